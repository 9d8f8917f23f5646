/* IncrementalAlterConfigs and AlterConfigs; see controller.h. The rules for values are conf's
 * (conf/dynamic.h); here are resources: which exist, which may be named, what a request may not do
 * twice. Each resource stands for itself; answers come in the order of the request.
 *
 * While eligible leader replicas are on, min.insync.replicas decides who is eligible: it must be
 * set for the whole cluster and not for single brokers, and each change of it empties the ELR of
 * the topics concerned (ClearElrRecord). */
#include "meta/controller_internal.h"

#include "base/map.h"
#include "meta/topic_name.h"

#include "wire_alter_configs.h"
#include "wire_incremental_alter_configs.h"
#include "wire_metadata_records.h"

bool controller_elr_enabled(const struct controller *c)
{
    return meta_image_feature(c->image, FEATURE_ELR_VERSION) > 0 &&
           (controller_version(c)->flags & META_HAS_ELR);
}

void controller_add_configs(struct controller *c, int8_t type, struct slice resource,
                            struct conf_changes changes)
{
    bool min_isr = false;
    for (int32_t i = 0; i < changes.count; i++) {
        struct config_record r;
        wire_init(&wire_config_record, &r);
        r.resource_type = type;
        r.resource_name = resource;
        r.name = changes.items[i].name;
        r.value = changes.items[i].value;
        meta_records_add(c->records, &wire_config_record, 0, &r);
        min_isr = min_isr || slice_eq(r.name, MIN_ISR);
    }
    bool whole_cluster = type == META_RESOURCE_BROKER && resource.size == 0;
    if (!min_isr || !controller_elr_enabled(c) || (type != META_RESOURCE_TOPIC && !whole_cluster))
        return;
    struct clear_elr_record r;
    wire_init(&wire_clear_elr_record, &r);
    r.topic_name = whole_cluster ? SLICE_LIT("") : resource;
    meta_records_add(c->records, &wire_clear_elr_record, 0, &r);
}

/* ---- resources --------------------------------------------------------------------------------
 */

static struct conf_result ok(void)
{
    return (struct conf_result){ERR_NONE, SLICE_NULL};
}

static struct conf_result no(enum err e, struct slice text)
{
    return (struct conf_result){e, text};
}

static bool type_is_known(int8_t type)
{
    return type == META_RESOURCE_TOPIC || type == META_RESOURCE_BROKER ||
           type == META_RESOURCE_CLIENT_METRICS || type == META_RESOURCE_GROUP;
}

static struct conf_result check_exists(struct controller *c, int8_t type, struct slice name)
{
    if (type == META_RESOURCE_TOPIC) {
        struct slice text;
        enum err err = topic_name_check(name, c->arena, &text);
        if (err)
            return no(err, text);
        if (!meta_image_topic(c->image, name))
            return no(ERR_UNKNOWN_TOPIC_OR_PARTITION,
                      arena_printf(c->arena, "The topic '%.*s' does not exist.", SLICE_FMT(name)));
    }
    if (type != META_RESOURCE_BROKER || name.size == 0)
        return ok();
    int64_t id;
    if (!slice_to_i64(name, INT32_MIN, INT32_MAX, &id))
        return no(ERR_INVALID_REQUEST,
                  arena_printf(c->arena, "Invalid broker name %.*s", SLICE_FMT(name)));
    if (!meta_image_broker(c->image, (int32_t)id) && !meta_image_controller(c->image, (int32_t)id))
        return no(ERR_BROKER_ID_NOT_REGISTERED,
                  arena_printf(c->arena, "No node with id %d found.", (int32_t)id));
    return ok();
}

/* The last checks of an alteration, then its records. */
static struct conf_result settle(struct controller *c, int8_t type, struct slice name,
                                 struct conf_result altered, struct conf_changes changes,
                                 bool validate_only)
{
    struct conf_result result = altered;
    if (result.error == ERR_NONE)
        result = check_exists(c, type, name);
    if (result.error == ERR_NONE && controller_elr_enabled(c))
        result = conf_elr_check((enum conf_resource_type)type, name, &changes);
    if (result.error == ERR_NONE && !validate_only)
        controller_add_configs(c, type, name, changes);
    return result;
}

static struct conf_result unknown_type(struct controller *c, int8_t type)
{
    return no(ERR_INVALID_REQUEST, arena_printf(c->arena, "Unknown resource type %d", type));
}

/* More changes than one operation may make: refused as a whole, before any is looked at. */
#define TEXT_TOO_LARGE SLICE_LIT("Unable to perform excessively large batch operation.")
#define TEXT_TWICE     SLICE_LIT("Each resource must appear at most once.")

/* ---- IncrementalAlterConfigs ------------------------------------------------------------------
 */

/* The type and name of a resource as a map's key. */
static struct slice resource_key(struct controller *c, int8_t type, struct slice name)
{
    return arena_printf(c->arena, "%d %.*s", type, SLICE_FMT(name));
}

/* For each key, whether it stands in the list once more. */
static bool *find_twice(struct controller *c, const struct slice *keys, int32_t count)
{
    bool *twice = arena_array(c->arena, (size_t)count, sizeof *twice);
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < count; i++) {
        bool *first = map_get(&seen, keys[i]);
        if (first)
            *first = twice[i] = true;
        else
            map_put(&seen, keys[i], &twice[i]);
    }
    map_fini(&seen);
    return twice;
}

static struct conf_result incremental_one(struct controller *c,
                                          const struct incremental_alter_configs_request *request,
                                          int32_t index, bool twice)
{
    const struct incremental_alter_configs_request_alter_configs_resource *resource =
        &request->resources[index];
    if (twice)
        return no(ERR_INVALID_REQUEST, TEXT_TWICE);
    if (!type_is_known(resource->resource_type))
        return unknown_type(c, resource->resource_type);
    struct conf_op *ops = arena_array(c->arena, (size_t)resource->configs_count, sizeof *ops);
    for (int32_t i = 0; i < resource->configs_count; i++)
        ops[i] = (struct conf_op){resource->configs[i].name,
                                  (enum conf_op_kind)resource->configs[i].config_operation,
                                  resource->configs[i].value};
    struct conf_changes changes = {NULL, 0};
    struct conf_result altered =
        conf_alter((enum conf_resource_type)resource->resource_type, resource->resource_name,
                   controller_config(c),
                   controller_overrides(c, resource->resource_type, resource->resource_name), ops,
                   resource->configs_count, c->arena, &changes);
    return settle(c, resource->resource_type, resource->resource_name, altered, changes,
                  request->validate_only);
}

void controller_incremental_alter_configs(struct controller *c,
                                          const struct incremental_alter_configs_request *request,
                                          struct incremental_alter_configs_response *response)
{
    wire_init(&wire_incremental_alter_configs_response, response);
    struct incremental_alter_configs_response_alter_configs_resource_response *results =
        incremental_alter_configs_response_responses_new(c->arena, response,
                                                         request->resources_count);
    struct slice *keys = arena_array(c->arena, (size_t)request->resources_count, sizeof *keys);
    int64_t changes = 0;
    for (int32_t i = 0; i < request->resources_count; i++) {
        keys[i] = resource_key(c, request->resources[i].resource_type,
                               request->resources[i].resource_name);
        changes += request->resources[i].configs_count;
    }
    bool too_many = changes > CONTROLLER_RECORDS_MAX;
    const bool *twice = find_twice(c, keys, request->resources_count);
    for (int32_t i = 0; i < request->resources_count; i++) {
        struct conf_result result = too_many ? no(ERR_POLICY_VIOLATION, TEXT_TOO_LARGE)
                                             : incremental_one(c, request, i, twice[i]);
        results[i].error_code = err_to_wire(result.error);
        results[i].error_message = result.message;
        results[i].resource_type = request->resources[i].resource_type;
        results[i].resource_name = request->resources[i].resource_name;
    }
}

/* ---- AlterConfigs -----------------------------------------------------------------------------
 */

static struct conf_result legacy_one(struct controller *c,
                                     const struct alter_configs_request *request, int32_t index,
                                     bool twice)
{
    const struct alter_configs_request_alter_configs_resource *resource =
        &request->resources[index];
    if (twice)
        return no(ERR_INVALID_REQUEST, TEXT_TWICE);
    if (!type_is_known(resource->resource_type))
        return unknown_type(c, resource->resource_type);
    struct conf_pair *wanted =
        arena_array(c->arena, (size_t)resource->configs_count, sizeof *wanted);
    for (int32_t i = 0; i < resource->configs_count; i++)
        wanted[i] = (struct conf_pair){resource->configs[i].name, resource->configs[i].value};
    struct conf_changes changes = {NULL, 0};
    struct conf_result altered =
        conf_alter_all((enum conf_resource_type)resource->resource_type, resource->resource_name,
                       controller_config(c),
                       controller_overrides(c, resource->resource_type, resource->resource_name),
                       (struct conf_pairs){wanted, resource->configs_count}, c->arena, &changes);
    return settle(c, resource->resource_type, resource->resource_name, altered, changes,
                  request->validate_only);
}

void controller_alter_configs(struct controller *c, const struct alter_configs_request *request,
                              struct alter_configs_response *response)
{
    wire_init(&wire_alter_configs_response, response);
    struct alter_configs_response_alter_configs_resource_response *results =
        alter_configs_response_responses_new(c->arena, response, request->resources_count);
    struct slice *keys = arena_array(c->arena, (size_t)request->resources_count, sizeof *keys);
    int64_t changes = 0;
    for (int32_t i = 0; i < request->resources_count; i++) {
        keys[i] = resource_key(c, request->resources[i].resource_type,
                               request->resources[i].resource_name);
        changes += request->resources[i].configs_count;
    }
    bool too_many = changes > CONTROLLER_RECORDS_MAX;
    const bool *twice = find_twice(c, keys, request->resources_count);
    for (int32_t i = 0; i < request->resources_count; i++) {
        struct conf_result result = too_many ? no(ERR_POLICY_VIOLATION, TEXT_TOO_LARGE)
                                             : legacy_one(c, request, i, twice[i]);
        results[i].error_code = err_to_wire(result.error);
        results[i].error_message = result.message;
        results[i].resource_type = request->resources[i].resource_type;
        results[i].resource_name = request->resources[i].resource_name;
    }
}
