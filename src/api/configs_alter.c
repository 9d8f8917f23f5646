/* IncrementalAlterConfigs and AlterConfigs.
 *
 * What is settled on this node, as in Kafka: a resource named twice (both get the error), and
 * BROKER_LOGGER, whose levels change at once and are kept nowhere. The rest goes to the controller
 * as one change; its answers and those settled here come back in the order of the request. A
 * resource that fails does not keep the others from being changed. */
#include "api/change.h"
#include "api/context.h"
#include "api/families.h"
#include "api/loggers.h"
#include "api/request.h"
#include "base/map.h"
#include "conf/dynamic.h"
#include "wire/api.h"
#include "wire_alter_configs.h"
#include "wire_incremental_alter_configs.h"

/* The type and name of a resource as a map's key. */
static struct slice key_of(int8_t type, struct slice name, struct arena *arena)
{
    uint8_t *key = arena_alloc(arena, name.size + 1);
    key[0] = (uint8_t)type;
    if (name.size)
        memcpy(key + 1, name.data, name.size);
    return slice_of(key, name.size + 1);
}

static const char twice[] = "Each resource must appear at most once.";

/* ---- IncrementalAlterConfigs ---- */

struct incremental {
    struct incremental_alter_configs_request rest; /* what the controller is asked */
    struct incremental_alter_configs_response answer;
    /* What the client gets: a row for each resource. `settled`: the row is complete. */
    struct incremental_alter_configs_response *response;
    bool *settled;
};

static void settle(struct incremental *state, int32_t index, enum err err, struct slice text)
{
    state->response->responses[index].error_code = err_to_wire(err);
    state->response->responses[index].error_message = text;
    state->settled[index] = true;
}

static struct incremental *incremental_new(struct request *request)
{
    const struct incremental_alter_configs_request *body = request->body;
    size_t count = (size_t)body->resources_count;
    struct incremental *state = arena_alloc(&request->arena, sizeof *state);
    wire_init(&wire_incremental_alter_configs_response, &state->answer);
    state->settled = arena_array(&request->arena, count, sizeof *state->settled);
    state->rest.validate_only = body->validate_only;
    state->rest.resources = arena_array(&request->arena, count, sizeof *state->rest.resources);
    state->response = request_response(request);
    struct incremental_alter_configs_response_alter_configs_resource_response *rows =
        incremental_alter_configs_response_responses_new(&request->arena, state->response,
                                                         body->resources_count);
    for (int32_t i = 0; i < body->resources_count; i++) {
        rows[i].resource_type = body->resources[i].resource_type;
        rows[i].resource_name = body->resources[i].resource_name;
        rows[i].error_message = SLICE_NULL;
    }
    return state;
}

static void settle_twice(struct request *request, struct incremental *state)
{
    const struct incremental_alter_configs_request *body = request->body;
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < body->resources_count; i++) {
        const struct incremental_alter_configs_request_alter_configs_resource *resource =
            &body->resources[i];
        struct slice key =
            key_of(resource->resource_type, resource->resource_name, &request->arena);
        const struct incremental_alter_configs_request_alter_configs_resource *first =
            map_get(&seen, key);
        if (!first) {
            map_put(&seen, key, &body->resources[i]);
            continue;
        }
        settle(state, (int32_t)(first - body->resources), ERR_INVALID_REQUEST, slice_str(twice));
        settle(state, i, ERR_INVALID_REQUEST, slice_str(twice));
    }
    map_fini(&seen);
}

/* A key twice, or a value missing: as conf_alter checks for the other resources. */
static enum err check_loggers_request(
    const struct incremental_alter_configs_request_alter_configs_resource *resource,
    struct arena *arena, struct slice *ret_text)
{
    struct map seen;
    map_init(&seen);
    bool repeats = false;
    for (int32_t i = 0; i < resource->configs_count; i++)
        repeats |= map_put(&seen, resource->configs[i].name, &resource->configs[i]) != NULL;
    map_fini(&seen);
    if (repeats) {
        *ret_text = SLICE_LIT("Error due to duplicate config keys");
        return ERR_INVALID_REQUEST;
    }
    struct buf names;
    buf_init(&names);
    for (int32_t i = 0; i < resource->configs_count; i++) {
        if (resource->configs[i].config_operation == CONF_OP_DELETE ||
            resource->configs[i].value.data)
            continue;
        buf_printf(&names, "%s%.*s", names.size ? ", " : "", SLICE_FMT(resource->configs[i].name));
    }
    bool missing = names.size > 0;
    if (missing)
        *ret_text = arena_printf(arena, "Null value not supported for : %.*s",
                                 SLICE_FMT(buf_slice(&names)));
    buf_fini(&names);
    return missing ? ERR_INVALID_REQUEST : ERR_NONE;
}

static enum err alter_loggers(
    struct request *request,
    const struct incremental_alter_configs_request_alter_configs_resource *resource,
    struct slice *ret_text)
{
    const struct incremental_alter_configs_request *body = request->body;
    enum err err = check_loggers_request(resource, &request->arena, ret_text);
    if (err)
        return err;
    struct logger_op *ops =
        arena_array(&request->arena, (size_t)resource->configs_count, sizeof *ops);
    for (int32_t i = 0; i < resource->configs_count; i++) {
        ops[i].name = resource->configs[i].name;
        ops[i].kind = resource->configs[i].config_operation;
        ops[i].value = resource->configs[i].value;
    }
    return loggers_alter(resource->resource_name, request->context->node_id, ops,
                         resource->configs_count, body->validate_only, &request->arena, ret_text);
}

static void decide_incremental(struct change *change, struct controller *controller)
{
    struct incremental *state = change->state;
    controller_incremental_alter_configs(controller, &state->rest, &state->answer);
}

/* The controller answers in the order in which it was asked. */
static void merge_incremental(struct change *change)
{
    struct incremental *state = change->state;
    int32_t next = 0;
    for (int32_t i = 0; i < state->response->responses_count; i++) {
        if (state->settled[i] || next == state->answer.responses_count)
            continue;
        state->response->responses[i].error_code = state->answer.responses[next].error_code;
        state->response->responses[i].error_message = state->answer.responses[next++].error_message;
    }
    change->response = state->response;
}

static void refuse_incremental(struct change *change, enum err err)
{
    struct incremental *state = change->state;
    for (int32_t i = 0; i < state->response->responses_count; i++) {
        if (!state->settled[i])
            settle(state, i, err, SLICE_NULL);
    }
    change->response = state->response;
}

static void incremental_alter_configs(struct request *request)
{
    static const struct change_calls calls = {decide_incremental, merge_incremental,
                                              refuse_incremental};
    const struct incremental_alter_configs_request *body = request->body;
    struct incremental *state = incremental_new(request);
    settle_twice(request, state);
    for (int32_t i = 0; i < body->resources_count; i++) {
        if (state->settled[i])
            continue;
        if (body->resources[i].resource_type != CONF_RESOURCE_BROKER_LOGGER) {
            state->rest.resources[state->rest.resources_count++] = body->resources[i];
            continue;
        }
        struct slice text = SLICE_NULL;
        enum err err = alter_loggers(request, &body->resources[i], &text);
        settle(state, i, err, text);
    }
    if (state->rest.resources_count == 0)
        request_reply(request, state->response);
    else
        change_submit(request, &calls, state);
}

/* ---- AlterConfigs ---- */

struct legacy {
    struct alter_configs_request rest;
    struct alter_configs_response answer;
    struct alter_configs_response *response;
    bool *settled;
};

static struct legacy *legacy_new(struct request *request)
{
    const struct alter_configs_request *body = request->body;
    size_t count = (size_t)body->resources_count;
    struct legacy *state = arena_alloc(&request->arena, sizeof *state);
    wire_init(&wire_alter_configs_response, &state->answer);
    state->settled = arena_array(&request->arena, count, sizeof *state->settled);
    state->rest.validate_only = body->validate_only;
    state->rest.resources = arena_array(&request->arena, count, sizeof *state->rest.resources);
    state->response = request_response(request);
    struct alter_configs_response_alter_configs_resource_response *rows =
        alter_configs_response_responses_new(&request->arena, state->response,
                                             body->resources_count);
    for (int32_t i = 0; i < body->resources_count; i++) {
        rows[i].resource_type = body->resources[i].resource_type;
        rows[i].resource_name = body->resources[i].resource_name;
        rows[i].error_message = SLICE_NULL;
    }
    return state;
}

static void legacy_settle_twice(struct request *request, struct legacy *state)
{
    const struct alter_configs_request *body = request->body;
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < body->resources_count; i++) {
        const struct alter_configs_request_alter_configs_resource *resource = &body->resources[i];
        struct slice key =
            key_of(resource->resource_type, resource->resource_name, &request->arena);
        const struct alter_configs_request_alter_configs_resource *first = map_get(&seen, key);
        if (!first) {
            map_put(&seen, key, &body->resources[i]);
            continue;
        }
        int32_t both[2] = {(int32_t)(first - body->resources), i};
        for (int k = 0; k < 2; k++) {
            state->response->responses[both[k]].error_code = ERR_INVALID_REQUEST;
            state->response->responses[both[k]].error_message = slice_str(twice);
            state->settled[both[k]] = true;
        }
    }
    map_fini(&seen);
}

static void decide_legacy(struct change *change, struct controller *controller)
{
    struct legacy *state = change->state;
    controller_alter_configs(controller, &state->rest, &state->answer);
}

static void merge_legacy(struct change *change)
{
    struct legacy *state = change->state;
    int32_t next = 0;
    for (int32_t i = 0; i < state->response->responses_count; i++) {
        if (state->settled[i] || next == state->answer.responses_count)
            continue;
        state->response->responses[i].error_code = state->answer.responses[next].error_code;
        state->response->responses[i].error_message = state->answer.responses[next++].error_message;
    }
    change->response = state->response;
}

static void refuse_legacy(struct change *change, enum err err)
{
    struct legacy *state = change->state;
    for (int32_t i = 0; i < state->response->responses_count; i++) {
        if (!state->settled[i])
            state->response->responses[i].error_code = err_to_wire(err);
    }
    change->response = state->response;
}

static void alter_configs(struct request *request)
{
    static const struct change_calls calls = {decide_legacy, merge_legacy, refuse_legacy};
    const struct alter_configs_request *body = request->body;
    struct legacy *state = legacy_new(request);
    legacy_settle_twice(request, state);
    for (int32_t i = 0; i < body->resources_count; i++) {
        if (!state->settled[i])
            state->rest.resources[state->rest.resources_count++] = body->resources[i];
    }
    if (state->rest.resources_count == 0)
        request_reply(request, state->response);
    else
        change_submit(request, &calls, state);
}

API_FAMILY(api_configs_alter,
           {WIRE_API_INCREMENTAL_ALTER_CONFIGS, API_BROKER | API_CONTROLLER,
            incremental_alter_configs},
           {WIRE_API_ALTER_CONFIGS, API_BROKER | API_CONTROLLER, alter_configs});
