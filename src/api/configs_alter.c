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

/* ---- what both have -------------------------------------------------------------------------- */

/* A resource of the request, and where its answer is. */
struct row {
    int8_t type;
    struct slice name;
    int16_t *error_code;
    struct slice *error_message;
    bool settled; /* the answer is complete */
};

struct rows {
    struct row *items;
    int32_t count;
};

static void settle(struct row *row, enum err err, struct slice text)
{
    *row->error_code = err_to_wire(err);
    *row->error_message = text;
    row->settled = true;
}

static void settle_open(const struct rows *rows, enum err err)
{
    for (int32_t i = 0; i < rows->count; i++) {
        if (!rows->items[i].settled)
            settle(&rows->items[i], err, SLICE_NULL);
    }
}

/* The next one from `at` on that the controller was asked for, which answers in that order. */
static struct row *next_open(const struct rows *rows, int32_t *at)
{
    while (*at < rows->count && rows->items[*at].settled)
        ++*at;
    return *at < rows->count ? &rows->items[(*at)++] : NULL;
}

/* The type and name of a resource as a map's key. */
static struct slice key_of(int8_t type, struct slice name, struct arena *arena)
{
    uint8_t *key = arena_alloc(arena, name.size + 1);
    key[0] = (uint8_t)type;
    if (name.size)
        memcpy(key + 1, name.data, name.size);
    return slice_of(key, name.size + 1);
}

static void settle_twice(const struct rows *rows, struct arena *arena)
{
    struct slice text = SLICE_LIT("Each resource must appear at most once.");
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        struct slice key = key_of(row->type, row->name, arena);
        struct row *first = map_get(&seen, key);
        if (!first) {
            map_put(&seen, key, row);
            continue;
        }
        settle(first, ERR_INVALID_REQUEST, text);
        settle(row, ERR_INVALID_REQUEST, text);
    }
    map_fini(&seen);
}

/* ---- IncrementalAlterConfigs ------------------------------------------------------------------
 */

struct incremental {
    struct incremental_alter_configs_request rest; /* what the controller is asked */
    struct incremental_alter_configs_response answer;
    struct incremental_alter_configs_response *response;
    struct rows rows; /* of the response */
};

static struct incremental *incremental_new(struct request *request)
{
    const struct incremental_alter_configs_request *body = request->body;
    struct arena *arena = &request->arena;
    int32_t count = body->resources_count;
    struct incremental *state = arena_alloc(arena, sizeof *state);
    wire_init(&wire_incremental_alter_configs_response, &state->answer);
    state->rest.validate_only = body->validate_only;
    state->rest.resources = arena_array(arena, (size_t)count, sizeof *state->rest.resources);
    state->rows = (struct rows){arena_array(arena, (size_t)count, sizeof(struct row)), count};
    state->response = request_response(request);
    struct incremental_alter_configs_response_alter_configs_resource_response *answers =
        incremental_alter_configs_response_responses_new(arena, state->response, count);
    for (int32_t i = 0; i < count; i++) {
        answers[i].resource_type = body->resources[i].resource_type;
        answers[i].resource_name = body->resources[i].resource_name;
        answers[i].error_message = SLICE_NULL;
        state->rows.items[i] = (struct row){.type = answers[i].resource_type,
                                            .name = answers[i].resource_name,
                                            .error_code = &answers[i].error_code,
                                            .error_message = &answers[i].error_message};
    }
    return state;
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

static void merge_incremental(struct change *change)
{
    struct incremental *state = change->state;
    for (int32_t i = 0, at = 0; i < state->answer.responses_count; i++) {
        struct row *row = next_open(&state->rows, &at);
        if (row)
            settle(row, err_from_wire(state->answer.responses[i].error_code),
                   state->answer.responses[i].error_message);
    }
    change->response = state->response;
}

static void refuse_incremental(struct change *change, enum err err)
{
    struct incremental *state = change->state;
    settle_open(&state->rows, err);
    change->response = state->response;
}

static void incremental_alter_configs(struct request *request)
{
    /* A smaller retention is what helps a full disk; it must not fail for want of space. */
    static const struct change_calls calls = {.decide = decide_incremental,
                                              .decided = merge_incremental,
                                              .refused = refuse_incremental,
                                              .makes_room = true};
    const struct incremental_alter_configs_request *body = request->body;
    struct incremental *state = incremental_new(request);
    settle_twice(&state->rows, &request->arena);
    for (int32_t i = 0; i < body->resources_count; i++) {
        if (state->rows.items[i].settled)
            continue;
        if (body->resources[i].resource_type != CONF_RESOURCE_BROKER_LOGGER) {
            state->rest.resources[state->rest.resources_count++] = body->resources[i];
            continue;
        }
        struct slice text = SLICE_NULL;
        enum err err = alter_loggers(request, &body->resources[i], &text);
        settle(&state->rows.items[i], err, text);
    }
    if (state->rest.resources_count == 0)
        request_reply(request, state->response);
    else
        change_submit(request, &calls, state);
}

/* ---- AlterConfigs -----------------------------------------------------------------------------
 */

struct legacy {
    struct alter_configs_request rest;
    struct alter_configs_response answer;
    struct alter_configs_response *response;
    struct rows rows;
};

static struct legacy *legacy_new(struct request *request)
{
    const struct alter_configs_request *body = request->body;
    struct arena *arena = &request->arena;
    int32_t count = body->resources_count;
    struct legacy *state = arena_alloc(arena, sizeof *state);
    wire_init(&wire_alter_configs_response, &state->answer);
    state->rest.validate_only = body->validate_only;
    state->rest.resources = arena_array(arena, (size_t)count, sizeof *state->rest.resources);
    state->rows = (struct rows){arena_array(arena, (size_t)count, sizeof(struct row)), count};
    state->response = request_response(request);
    struct alter_configs_response_alter_configs_resource_response *answers =
        alter_configs_response_responses_new(arena, state->response, count);
    for (int32_t i = 0; i < count; i++) {
        answers[i].resource_type = body->resources[i].resource_type;
        answers[i].resource_name = body->resources[i].resource_name;
        answers[i].error_message = SLICE_NULL;
        state->rows.items[i] = (struct row){.type = answers[i].resource_type,
                                            .name = answers[i].resource_name,
                                            .error_code = &answers[i].error_code,
                                            .error_message = &answers[i].error_message};
    }
    return state;
}

static void decide_legacy(struct change *change, struct controller *controller)
{
    struct legacy *state = change->state;
    controller_alter_configs(controller, &state->rest, &state->answer);
}

static void merge_legacy(struct change *change)
{
    struct legacy *state = change->state;
    for (int32_t i = 0, at = 0; i < state->answer.responses_count; i++) {
        struct row *row = next_open(&state->rows, &at);
        if (row)
            settle(row, err_from_wire(state->answer.responses[i].error_code),
                   state->answer.responses[i].error_message);
    }
    change->response = state->response;
}

static void refuse_legacy(struct change *change, enum err err)
{
    struct legacy *state = change->state;
    settle_open(&state->rows, err);
    change->response = state->response;
}

static void alter_configs(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_legacy,
                                              .decided = merge_legacy,
                                              .refused = refuse_legacy,
                                              .makes_room = true};
    const struct alter_configs_request *body = request->body;
    struct legacy *state = legacy_new(request);
    settle_twice(&state->rows, &request->arena);
    for (int32_t i = 0; i < body->resources_count; i++) {
        if (!state->rows.items[i].settled)
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
