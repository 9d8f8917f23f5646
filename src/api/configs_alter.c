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

/* A resource of the request, and where its answer is. */
struct row {
    struct controller_alteration asked;
    int16_t *error_code;
    struct slice *error_message;
    bool settled; /* the answer is complete */
};

struct alter {
    struct row *rows;
    int32_t count;
    struct controller_alteration *rest; /* what the controller is asked: rows in their order */
    int32_t rest_count;
    bool replace; /* AlterConfigs */
    bool validate_only;
    void *response;
};

static void settle(struct row *row, enum err err, struct slice text)
{
    *row->error_code = err_to_wire(err);
    *row->error_message = text;
    row->settled = true;
}

/* ---- what is settled here ---------------------------------------------------------------------
 */

/* The type and name of a resource as a map's key. */
static struct slice key_of(const struct controller_alteration *asked, struct arena *arena)
{
    uint8_t *key = arena_alloc(arena, asked->name.size + 1);
    key[0] = (uint8_t)asked->type;
    if (asked->name.size)
        memcpy(key + 1, asked->name.data, asked->name.size);
    return slice_of(key, asked->name.size + 1);
}

static void settle_twice(struct alter *alter, struct arena *arena)
{
    struct slice text = SLICE_LIT("Each resource must appear at most once.");
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < alter->count; i++) {
        struct row *row = &alter->rows[i];
        struct slice key = key_of(&row->asked, arena);
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

static void alter_loggers(struct request *request, const struct alter *alter, struct row *row)
{
    const struct controller_alteration *asked = &row->asked;
    struct conf_result result = conf_check_ops(asked->ops, asked->op_count, &request->arena);
    if (!result.error)
        result.error =
            loggers_alter(asked->name, request->context->node_id, asked->ops, asked->op_count,
                          alter->validate_only, &request->arena, &result.message);
    settle(row, result.error, result.message);
}

/* ---- what the controller decides --------------------------------------------------------------
 */

static void decide(struct change *change, struct controller *controller)
{
    struct alter *alter = change->state;
    controller_alter_configs(controller, alter->rest, alter->rest_count, alter->replace,
                             alter->validate_only);
}

static void merge(struct change *change)
{
    struct alter *alter = change->state;
    const struct controller_alteration *next = alter->rest;
    for (int32_t i = 0; i < alter->count; i++) {
        if (alter->rows[i].settled)
            continue;
        settle(&alter->rows[i], next->result.error, next->result.message);
        next++;
    }
    change->response = alter->response;
}

static void refuse(struct change *change, enum err err)
{
    struct alter *alter = change->state;
    for (int32_t i = 0; i < alter->count; i++) {
        if (!alter->rows[i].settled)
            settle(&alter->rows[i], err, SLICE_NULL);
    }
    change->response = alter->response;
}

static void run(struct request *request, struct alter *alter)
{
    /* A smaller retention is what helps a full disk; it must not fail for want of space. */
    static const struct change_calls calls = {
        .decide = decide, .decided = merge, .refused = refuse, .makes_room = true};
    settle_twice(alter, &request->arena);
    for (int32_t i = 0; i < alter->count; i++) {
        struct row *row = &alter->rows[i];
        if (row->settled)
            continue;
        if (!alter->replace && row->asked.type == CONF_RESOURCE_BROKER_LOGGER)
            alter_loggers(request, alter, row);
        else
            alter->rest[alter->rest_count++] = row->asked;
    }
    if (alter->rest_count == 0)
        request_reply(request, alter->response);
    else
        change_submit(request, &calls, alter);
}

/* ---- the two requests -------------------------------------------------------------------------
 */

static struct alter *alter_new(struct request *request, int32_t count, bool replace,
                               bool validate_only)
{
    struct alter *alter = arena_alloc(&request->arena, sizeof *alter);
    alter->count = count;
    alter->rows = arena_array(&request->arena, (size_t)count, sizeof *alter->rows);
    alter->rest = arena_array(&request->arena, (size_t)count, sizeof *alter->rest);
    alter->replace = replace;
    alter->validate_only = validate_only;
    alter->response = request_response(request);
    return alter;
}

static struct row row_of(int8_t type, struct slice name, const struct conf_op *ops, int32_t count)
{
    return (struct row){.asked = {.type = type, .name = name, .ops = ops, .op_count = count}};
}

static void incremental_alter_configs(struct request *request)
{
    const struct incremental_alter_configs_request *body = request->body;
    struct arena *arena = &request->arena;
    struct alter *alter = alter_new(request, body->resources_count, false, body->validate_only);
    struct incremental_alter_configs_response_alter_configs_resource_response *answers =
        incremental_alter_configs_response_responses_new(arena, alter->response, alter->count);
    for (int32_t i = 0; i < alter->count; i++) {
        const struct incremental_alter_configs_request_alter_configs_resource *resource =
            &body->resources[i];
        int32_t count = resource->configs_count;
        struct conf_op *ops = arena_array(arena, (size_t)count, sizeof *ops);
        for (int32_t k = 0; k < count; k++)
            ops[k] = (struct conf_op){resource->configs[k].name,
                                      (enum conf_op_kind)resource->configs[k].config_operation,
                                      resource->configs[k].value};
        answers[i].resource_type = resource->resource_type;
        answers[i].resource_name = resource->resource_name;
        alter->rows[i] = row_of(resource->resource_type, resource->resource_name, ops, count);
        alter->rows[i].error_code = &answers[i].error_code;
        alter->rows[i].error_message = &answers[i].error_message;
    }
    run(request, alter);
}

static void alter_configs(struct request *request)
{
    const struct alter_configs_request *body = request->body;
    struct arena *arena = &request->arena;
    struct alter *alter = alter_new(request, body->resources_count, true, body->validate_only);
    struct alter_configs_response_alter_configs_resource_response *answers =
        alter_configs_response_responses_new(arena, alter->response, alter->count);
    for (int32_t i = 0; i < alter->count; i++) {
        const struct alter_configs_request_alter_configs_resource *resource = &body->resources[i];
        int32_t count = resource->configs_count;
        struct conf_op *ops = arena_array(arena, (size_t)count, sizeof *ops);
        for (int32_t k = 0; k < count; k++)
            ops[k] = (struct conf_op){resource->configs[k].name, CONF_OP_SET,
                                      resource->configs[k].value};
        answers[i].resource_type = resource->resource_type;
        answers[i].resource_name = resource->resource_name;
        alter->rows[i] = row_of(resource->resource_type, resource->resource_name, ops, count);
        alter->rows[i].error_code = &answers[i].error_code;
        alter->rows[i].error_message = &answers[i].error_message;
    }
    run(request, alter);
}

API_FAMILY(api_configs_alter,
           {WIRE_API_INCREMENTAL_ALTER_CONFIGS, API_BROKER | API_CONTROLLER,
            incremental_alter_configs},
           {WIRE_API_ALTER_CONFIGS, API_BROKER | API_CONTROLLER, alter_configs});
