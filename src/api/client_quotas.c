/* DescribeClientQuotas and DescribeUserScramCredentials, for admin clients that list them: nothing
 * is limited and nobody has a credential on this node yet, so a filter that Kafka accepts finds
 * nothing, and one that it refuses is refused with the same words. */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "base/map.h"
#include "wire/api.h"
#include "wire_describe_client_quotas.h"
#include "wire_describe_user_scram_credentials.h"

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

static void describe_quotas(struct request *request)
{
    struct describe_client_quotas_response *response = request_response(request);
    struct slice text = slice_str("");
    enum err err = check_filter(request->body, &request->arena, &text);
    response->error_code = err_to_wire(err);
    response->error_message = text;
    response->entries_count = err ? -1 : 0;
    request_reply(request, response);
}

/* ---- SCRAM ---- */

static void describe_scram(struct request *request)
{
    const struct describe_user_scram_credentials_request *body = request->body;
    struct describe_user_scram_credentials_response *response = request_response(request);
    response->error_message = slice_str("");
    int32_t asked = body->users_count > 0 ? body->users_count : 0;
    struct describe_user_scram_credentials_response_describe_user_scram_credentials_result
        *results =
            describe_user_scram_credentials_response_results_new(&request->arena, response, asked);
    struct map seen;
    map_init(&seen);
    int32_t count = 0;
    for (int32_t i = 0; i < asked; i++) {
        struct slice name = body->users[i].name;
        struct describe_user_scram_credentials_response_describe_user_scram_credentials_result
            *result = map_get(&seen, name);
        if (result) {
            result->error_code = ERR_DUPLICATE_RESOURCE;
            result->error_message =
                arena_printf(&request->arena,
                             "Cannot describe SCRAM credentials for the same user twice in a "
                             "single request: %.*s",
                             SLICE_FMT(name));
            continue;
        }
        result = &results[count++];
        map_put(&seen, name, result);
        result->user = name;
        result->error_code = ERR_RESOURCE_NOT_FOUND;
        result->error_message = arena_printf(
            &request->arena, "Attempt to describe a user credential that does not exist: %.*s",
            SLICE_FMT(name));
    }
    map_fini(&seen);
    response->results_count = count;
    request_reply(request, response);
}

API_FAMILY(api_client_quotas, {WIRE_API_DESCRIBE_CLIENT_QUOTAS, API_BROKER, describe_quotas},
           {WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, API_BROKER | API_CONTROLLER, describe_scram});
