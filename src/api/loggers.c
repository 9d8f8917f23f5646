/* Names of Kafka's loggers, each standing for one module of Klamm's diagnostics. A level set
 * through any of a module's names holds for the module; deleting it lets the module follow "root"
 * again. Setting "root" moves every module that has no level of its own. */
#include "api/loggers.h"

#include "os/diag.h"
#include "os/lock.h"

static const struct logger {
    const char *name;
    enum diag_module module;
} loggers[] = {
    {"kafka.cluster.Partition", DIAG_REPL},
    {"kafka.controller", DIAG_META},
    {"kafka.coordinator.group", DIAG_COORD},
    {"kafka.log", DIAG_STORE},
    {"kafka.log.LogManager", DIAG_STORE},
    {"kafka.network", DIAG_NET},
    {"kafka.network.RequestChannel", DIAG_API},
    {"kafka.network.SocketServer", DIAG_NET},
    {"kafka.raft", DIAG_RAFT},
    {"kafka.request.logger", DIAG_API},
    {"kafka.server", DIAG_SERVER},
    {"kafka.server.BrokerServer", DIAG_SERVER},
    {"kafka.server.ControllerServer", DIAG_META},
    {"kafka.server.KafkaApis", DIAG_API},
    {"kafka.server.ReplicaManager", DIAG_REPL},
    {"org.apache.kafka.controller", DIAG_META},
    {"org.apache.kafka.coordinator.group", DIAG_COORD},
    {"org.apache.kafka.image", DIAG_META},
    {"org.apache.kafka.metadata", DIAG_META},
    {"org.apache.kafka.raft", DIAG_RAFT},
    {"org.apache.kafka.server", DIAG_SERVER},
    {"org.apache.kafka.storage.internals.log", DIAG_STORE},
    {"root", DIAG_ROOT},
    {"state.change.logger", DIAG_META},
};
enum { LOGGER_COUNT = sizeof loggers / sizeof loggers[0] };

/* Modules with a level of their own; changed together with the levels under the lock. */
static bool is_own[DIAG_MODULE_COUNT];
static struct lock changing = {PTHREAD_MUTEX_INITIALIZER, LOCK_LEAF};

int loggers_count(void)
{
    return LOGGER_COUNT;
}

struct slice loggers_at(int index, struct slice *ret_level)
{
    *ret_level = slice_str(diag_level_name(diag_level_of(loggers[index].module)));
    return slice_str(loggers[index].name);
}

static const struct logger *find(struct slice name)
{
    for (int i = 0; i < LOGGER_COUNT; i++) {
        if (slice_eq_str(name, loggers[i].name))
            return &loggers[i];
    }
    return NULL;
}

/* -1 when it is no level. */
static int level_of(struct slice text)
{
    for (int i = DIAG_FATAL; i <= DIAG_TRACE; i++) {
        if (slice_eq_str(text, diag_level_name((enum diag_level)i)))
            return i;
    }
    return -1;
}

static enum err check_op(const struct conf_op *op, struct arena *arena, struct slice *ret_text)
{
    switch (op->kind) {
    case CONF_OP_SET:
    case CONF_OP_DELETE:
        if (!find(op->name)) {
            *ret_text = arena_printf(arena, "Logger %.*s does not exist!", SLICE_FMT(op->name));
            return ERR_INVALID_CONFIG;
        }
        break;
    case CONF_OP_APPEND:
    case CONF_OP_SUBTRACT:
        *ret_text =
            arena_printf(arena, "%s operation is not allowed for the BROKER_LOGGER resource",
                         op->kind == CONF_OP_APPEND ? "APPEND" : "SUBTRACT");
        return ERR_INVALID_REQUEST;
    default:
        *ret_text = arena_printf(
            arena, "Unknown operation type %d is not allowed for the BROKER_LOGGER resource",
            op->kind);
        return ERR_INVALID_REQUEST;
    }
    if (op->kind == CONF_OP_SET && level_of(op->value) < 0) {
        *ret_text =
            arena_printf(arena,
                         "Cannot set the log level of %.*s to %.*s as it is not a supported "
                         "log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, "
                         "WARN",
                         SLICE_FMT(op->name), SLICE_FMT(op->value));
        return ERR_INVALID_CONFIG;
    }
    if (op->kind == CONF_OP_DELETE && slice_eq_str(op->name, "root")) {
        *ret_text = SLICE_LIT("Removing the log level of the root logger is not allowed");
        return ERR_INVALID_REQUEST;
    }
    return ERR_NONE;
}

static enum err check_name(struct slice name, int32_t node_id, struct arena *arena,
                           struct slice *ret_text)
{
    int64_t id;
    if (!slice_to_i64(name, INT32_MIN, INT32_MAX, &id)) {
        *ret_text =
            arena_printf(arena, "Node id must be an integer, but it is: %.*s", SLICE_FMT(name));
        return ERR_INVALID_REQUEST;
    }
    if (id != node_id) {
        *ret_text = arena_printf(arena, "Unexpected node id. Expected %d, but received %d", node_id,
                                 (int)id);
        return ERR_INVALID_REQUEST;
    }
    return ERR_NONE;
}

/* Lock held. */
static void do_op(const struct conf_op *op)
{
    enum diag_module module = find(op->name)->module;
    is_own[module] = op->kind == CONF_OP_SET;
    enum diag_level level =
        op->kind == CONF_OP_SET ? (enum diag_level)level_of(op->value) : diag_level_of(DIAG_ROOT);
    diag_set_level(module, level);
    for (int m = 0; module == DIAG_ROOT && m < DIAG_MODULE_COUNT; m++) {
        if (!is_own[m])
            diag_set_level((enum diag_module)m, level);
    }
}

enum err loggers_alter(struct slice resource_name, int32_t node_id, const struct conf_op *ops,
                       int32_t op_count, bool validate_only, struct arena *arena,
                       struct slice *ret_text)
{
    enum err err = check_name(resource_name, node_id, arena, ret_text);
    for (int32_t i = 0; i < op_count && !err; i++)
        err = check_op(&ops[i], arena, ret_text);
    if (err || validate_only)
        return err;
    lock_take(&changing);
    for (int32_t i = 0; i < op_count; i++)
        do_op(&ops[i]);
    lock_release(&changing);
    return ERR_NONE;
}
