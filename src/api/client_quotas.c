/* DescribeClientQuotas and DescribeUserScramCredentials, for admin clients that list them: what the
 * records of a folder taken over say (nothing else makes them yet, and nothing obeys them). A
 * filter that Kafka refuses is refused with the same words. Runs on the connection's loop. */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "base/cursor.h"
#include "base/map.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_describe_client_quotas.h"
#include "wire_describe_user_scram_credentials.h"
#include "wire_metadata_records.h"

enum { MATCH_EXACT = 0, MATCH_DEFAULT = 1, MATCH_SPECIFIED = 2 };

struct quota_filter {
    bool user, client_id, ip;
};

static bool *filter_member(struct quota_filter *filter, struct slice type)
{
    return slice_eq_str(type, "user")        ? &filter->user
           : slice_eq_str(type, "client-id") ? &filter->client_id
           : slice_eq_str(type, "ip")        ? &filter->ip
                                             : NULL;
}

static enum err check_match(const struct describe_client_quotas_request_component_data *component,
                            struct arena *arena, struct slice *ret_text)
{
    const char *text = NULL;
    switch (component->match_type) {
    case MATCH_EXACT:
        if (!component->match.data)
            text = "Request specified MATCH_TYPE_EXACT, but set match string to null.";
        break;
    case MATCH_DEFAULT:
        if (component->match.data)
            text = "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.";
        break;
    case MATCH_SPECIFIED:
        if (component->match.data)
            text = "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.";
        break;
    default:
        *ret_text = arena_printf(arena, "Unknown match type %d", component->match_type);
        return ERR_INVALID_REQUEST;
    }
    if (!text)
        return ERR_NONE;
    *ret_text = slice_str(text);
    return ERR_INVALID_REQUEST;
}

static enum err check_filter(const struct describe_client_quotas_request *body, struct arena *arena,
                             struct slice *ret_text)
{
    struct quota_filter filter = {false, false, false};
    for (int32_t i = 0; i < body->components_count; i++) {
        struct slice type = body->components[i].entity_type;
        bool *member = filter_member(&filter, type);
        if (type.size == 0) {
            *ret_text = SLICE_LIT("Invalid empty entity type.");
            return ERR_INVALID_REQUEST;
        }
        if (!member) {
            *ret_text = arena_printf(arena, "Unsupported entity type %.*s", SLICE_FMT(type));
            return ERR_UNSUPPORTED_VERSION;
        }
        if (*member) {
            *ret_text =
                arena_printf(arena, "Entity type %.*s cannot appear more than once in the filter.",
                             SLICE_FMT(type));
            return ERR_INVALID_REQUEST;
        }
        *member = true;
        enum err err = check_match(&body->components[i], arena, ret_text);
        if (err)
            return err;
    }
    if (filter.ip && (filter.user || filter.client_id)) {
        *ret_text = SLICE_LIT("Invalid entity filter component combination. IP filter component "
                              "should not be used with user or clientId filter component.");
        return ERR_INVALID_REQUEST;
    }
    return ERR_NONE;
}

/* A record that the image keeps: its frame version, key and version, then the body, with which the
 * image was built. Copied, so that it outlives the image. */
static bool decode_kept(const struct meta_blob *blob, const struct wire_schema *schema,
                        struct arena *arena, void *ret_record)
{
    struct cursor c = cursor_of(arena_dup(arena, blob->payload));
    cursor_uvarint(&c);
    cursor_uvarint(&c);
    int version = (int)cursor_uvarint(&c);
    return !c.failed && wire_decode(schema, version, &c, arena, ret_record) == ERR_NONE;
}

static const struct client_quota_record_entity_data *find_part(
    const struct client_quota_record *quota, struct slice type)
{
    for (int32_t i = 0; i < quota->entity_count; i++) {
        if (slice_eq(quota->entity[i].entity_type, type))
            return &quota->entity[i];
    }
    return NULL;
}

static bool is_wanted(const struct client_quota_record *quota,
                      const struct describe_client_quotas_request *body)
{
    if (body->strict && quota->entity_count != body->components_count)
        return false;
    for (int32_t i = 0; i < body->components_count; i++) {
        const struct describe_client_quotas_request_component_data *wanted = &body->components[i];
        const struct client_quota_record_entity_data *part = find_part(quota, wanted->entity_type);
        if (!part)
            return false;
        if (wanted->match_type == MATCH_DEFAULT && !slice_is_null(part->entity_name))
            return false;
        if (wanted->match_type == MATCH_EXACT &&
            (slice_is_null(part->entity_name) || !slice_eq(part->entity_name, wanted->match)))
            return false;
    }
    return true;
}

/* The entity as bytes, the same for all its quotas. Its parts stand in one order in all records of
 * an entity: by that the image tells them apart, too. */
static struct slice entity_key(const struct client_quota_record *quota, struct arena *arena)
{
    struct buf key;
    buf_init(&key);
    for (int32_t i = 0; i < quota->entity_count; i++) {
        struct slice name = quota->entity[i].entity_name;
        buf_put_i32(&key, (int32_t)quota->entity[i].entity_type.size);
        buf_put_slice(&key, quota->entity[i].entity_type);
        buf_put_i32(&key, slice_is_null(name) ? -1 : (int32_t)name.size);
        buf_put_slice(&key, name);
    }
    struct slice copy = arena_dup(arena, buf_slice(&key));
    buf_fini(&key);
    return copy;
}

/* An entity's entry on its way. */
struct quota_entry {
    struct describe_client_quotas_response_entry_data *entry;
    const struct client_quota_record *first;
    int32_t value_count;
};

static void fill_entry(struct quota_entry *from, struct arena *arena)
{
    const struct client_quota_record *quota = from->first;
    struct describe_client_quotas_response_entity_data *parts =
        describe_client_quotas_response_entry_data_entity_new(arena, from->entry,
                                                              quota->entity_count);
    for (int32_t i = 0; i < quota->entity_count; i++) {
        parts[i].entity_type = quota->entity[i].entity_type;
        parts[i].entity_name = quota->entity[i].entity_name;
    }
    describe_client_quotas_response_entry_data_values_new(arena, from->entry, from->value_count);
    from->entry->values_count = 0; /* they are put in one by one */
}

/* One entry for each entity, with all its quotas. */
static void put_entries(const struct client_quota_record *quotas, int32_t count,
                        struct arena *arena, struct describe_client_quotas_response *response)
{
    struct describe_client_quotas_response_entry_data *entries =
        describe_client_quotas_response_entries_new(arena, response, count);
    struct quota_entry *found = arena_array(arena, (size_t)count, sizeof *found);
    struct quota_entry **of = arena_array(arena, (size_t)count, sizeof *of);
    struct map by_entity;
    map_init(&by_entity);
    response->entries_count = 0;
    for (int32_t i = 0; i < count; i++) {
        struct slice key = entity_key(&quotas[i], arena);
        of[i] = map_get(&by_entity, key);
        if (!of[i]) {
            of[i] = &found[response->entries_count];
            of[i]->entry = &entries[response->entries_count++];
            of[i]->first = &quotas[i];
            map_put(&by_entity, key, of[i]);
        }
        of[i]->value_count++;
    }
    for (int32_t i = 0; i < response->entries_count; i++)
        fill_entry(&found[i], arena);
    for (int32_t i = 0; i < count; i++) {
        struct describe_client_quotas_response_value_data *value =
            &of[i]->entry->values[of[i]->entry->values_count++];
        value->key = quotas[i].key;
        value->value = quotas[i].value;
    }
    map_fini(&by_entity);
}

static void find_quotas(struct request *request, struct describe_client_quotas_response *response)
{
    struct arena *arena = &request->arena;
    struct meta_image *image = quorum_image(request->context->quorum);
    size_t kept = meta_image_blob_count(image, META_BLOB_QUOTA);
    struct client_quota_record *quotas = arena_array(arena, kept, sizeof *quotas);
    int32_t count = 0;
    for (size_t i = 0; i < kept; i++) {
        if (decode_kept(meta_image_blob_at(image, META_BLOB_QUOTA, i), &wire_client_quota_record,
                        arena, &quotas[count]) &&
            is_wanted(&quotas[count], request->body))
            count++;
    }
    meta_image_unref(image);
    put_entries(quotas, count, arena, response);
}

static void describe_quotas(struct request *request)
{
    struct describe_client_quotas_response *response = request_response(request);
    struct slice text = slice_str("");
    enum err err = check_filter(request->body, &request->arena, &text);
    response->error_code = err_to_wire(err);
    response->error_message = text;
    response->entries_count = -1;
    if (!err)
        find_quotas(request, response);
    request_reply(request, response);
}

/* ---- SCRAM ---- */

/* All credentials that the image keeps, decoded. */
struct credentials {
    struct user_scram_credential_record *items;
    int32_t count;
};

static struct credentials load_credentials(struct request *request)
{
    struct meta_image *image = quorum_image(request->context->quorum);
    size_t kept = meta_image_blob_count(image, META_BLOB_SCRAM);
    struct credentials all = {arena_array(&request->arena, kept, sizeof *all.items), 0};
    for (size_t i = 0; i < kept; i++) {
        if (decode_kept(meta_image_blob_at(image, META_BLOB_SCRAM, i),
                        &wire_user_scram_credential_record, &request->arena, &all.items[all.count]))
            all.count++;
    }
    meta_image_unref(image);
    return all;
}

enum { MECHANISMS_MAX = 8 };

/* A user's credentials: one for each mechanism, in a map by the user's name. */
struct credential_list {
    const struct user_scram_credential_record *items[MECHANISMS_MAX];
    int32_t count;
};

static void index_credentials(const struct credentials *all, struct arena *arena,
                              struct map *by_user)
{
    for (int32_t i = 0; i < all->count; i++) {
        struct credential_list *list = map_get(by_user, all->items[i].name);
        if (!list) {
            list = arena_array(arena, 1, sizeof *list);
            map_put(by_user, all->items[i].name, list);
        }
        if (list->count < MECHANISMS_MAX)
            list->items[list->count++] = &all->items[i];
    }
}

static void describe_user(
    const struct credential_list *list, struct arena *arena,
    struct describe_user_scram_credentials_response_describe_user_scram_credentials_result *result)
{
    if (!list) {
        result->error_code = ERR_RESOURCE_NOT_FOUND;
        result->error_message =
            arena_printf(arena, "Attempt to describe a user credential that does not exist: %.*s",
                         SLICE_FMT(result->user));
        return;
    }
    struct describe_user_scram_credentials_response_credential_info *infos =
        arena_array(arena, (size_t)list->count, sizeof *infos);
    result->credential_infos = infos;
    result->credential_infos_count = list->count;
    for (int32_t i = 0; i < list->count; i++) {
        infos[i].mechanism = list->items[i]->mechanism;
        infos[i].iterations = list->items[i]->iterations;
    }
}

/* The users asked for, else all that have a credential. */
static struct slice *users_of(struct request *request, const struct credentials *all,
                              int32_t *ret_count)
{
    const struct describe_user_scram_credentials_request *body = request->body;
    bool listed = body->users_count > 0;
    *ret_count = listed ? body->users_count : all->count;
    struct slice *users = arena_array(&request->arena, (size_t)*ret_count, sizeof *users);
    for (int32_t i = 0; i < *ret_count; i++)
        users[i] = listed ? body->users[i].name : all->items[i].name;
    return users;
}

static void describe_scram(struct request *request)
{
    const struct describe_user_scram_credentials_request *body = request->body;
    struct describe_user_scram_credentials_response *response = request_response(request);
    struct credentials all = load_credentials(request);
    int32_t user_count;
    struct slice *users = users_of(request, &all, &user_count);
    response->error_message = slice_str("");
    struct describe_user_scram_credentials_response_describe_user_scram_credentials_result
        *results = describe_user_scram_credentials_response_results_new(&request->arena, response,
                                                                        user_count);
    struct map seen, by_user;
    map_init(&seen);
    map_init(&by_user);
    index_credentials(&all, &request->arena, &by_user);
    int32_t count = 0;
    for (int32_t i = 0; i < user_count; i++) {
        struct describe_user_scram_credentials_response_describe_user_scram_credentials_result
            *result = map_get(&seen, users[i]);
        if (!result) {
            result = &results[count++];
            map_put(&seen, users[i], result);
            result->user = users[i];
            describe_user(map_get(&by_user, users[i]), &request->arena, result);
        } else if (body->users_count > 0) {
            result->error_code = ERR_DUPLICATE_RESOURCE;
            result->credential_infos_count = 0;
            result->error_message =
                arena_printf(&request->arena,
                             "Cannot describe SCRAM credentials for the same user twice in a "
                             "single request: %.*s",
                             SLICE_FMT(users[i]));
        }
    }
    map_fini(&seen);
    map_fini(&by_user);
    response->results_count = count;
    request_reply(request, response);
}

API_FAMILY(api_client_quotas, {WIRE_API_DESCRIBE_CLIENT_QUOTAS, API_BROKER, describe_quotas},
           {WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, API_BROKER | API_CONTROLLER, describe_scram});
