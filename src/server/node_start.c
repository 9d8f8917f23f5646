/* The steps up.
 *
 *  1. log folders are checked and locked (a second start on a folder is told as that)
 *  2. listeners take their ports; who connects is refused until 6, as by Apache Kafka
 *  3. the metadata log is recovered, or made where all is new
 *  -- node_start returns here --
 *  4. new folders are formatted; all logs are loaded, on workers
 *  5. this node registers and leads; the first image is published: partitions, coordinators
 *  6. background jobs start, listeners accept: ready
 *
 * A start that is refused in 1 to 3 has written nothing: the metadata log is made, or recovered,
 * after the last check that can do without it. 1 to 3 on the caller's thread, 5 and 6 on the
 * metadata loop. A stop asked for meanwhile is honoured between steps. */
#include "api/coordinators.h"
#include "api/dispatch.h"
#include "api/fetch_session.h"
#include "api/producer_ids.h"
#include "base/mem.h"
#include "conf/config.h"
#include "net/conn.h"
#include "net/listener.h"
#include "os/diag.h"
#include "os/host_name.h"
#include "repl/partition_table.h"
#include "repl/quorum.h"
#include "server/node_internal.h"
#include "server/settings.h"

/* ---- 2. network ---- */

static void on_frame(void *context, struct conn *conn, struct frame *frame)
{
    struct node *node = context;
    dispatch_frame(&node->context, conn, frame);
}

static void on_close(void *context, struct conn *conn)
{
    (void)context;
    dispatch_closed(conn);
}

static void on_peer_closed(void *context, struct conn *conn)
{
    (void)context;
    dispatch_peer_closed(conn);
}

static void start_loops(struct node *node)
{
    node->meta_loop = node->options.loop;
    node->loop_count = settings_loop_count(node->static_config, node->options.io);
    node->loops = mem_array((size_t)node->loop_count, sizeof *node->loops);
    for (int i = 0; i < node->loop_count; i++)
        node->loops[i] = loop_start(node->options.io, "net");
}

static bool is_controller_listener(const struct node *node, struct slice name)
{
    return listener_list_find(config_controller_listeners(node->static_config), name) != NULL;
}

/* The entry of `listeners` that is to blame, as it was written (mem_alloc), with the port that was
 * free for 0. */
static char *written(const struct listener_address *from, uint16_t port)
{
    bool v6 = from->host.size && memchr(from->host.data, ':', from->host.size);
    return mem_printf("%.*s://%s%.*s%s:%u", SLICE_FMT(from->name), v6 ? "[" : "",
                      SLICE_FMT(from->host), v6 ? "]" : "", port);
}

static char *bind_failed(struct io *io, const char *key, const struct listener_address *from,
                         uint16_t port, enum err err)
{
    enum { PRIVILEGED_MAX = 1023 };
    key = key ? key : "listeners";
    const char *low = port && port <= PRIVILEGED_MAX
                          ? ", and a port above 1023 where the system keeps the lower ones for root"
                          : "";
    const char *why = io_error_text(io, err);
    char *entry = written(from, port), *text;
    if (err == ERR_BUSY)
        text = mem_printf("%s: %s: the port %u is taken by another process; stop that one, or "
                          "choose another port",
                          key, entry, port);
    else
        text = mem_printf("%s: cannot listen on %s: %s. Allowed are addresses of this machine, or "
                          "none, as in %.*s://:%u, for all of them%s. What clients are told to "
                          "connect to is advertised.listeners",
                          key, entry, why, SLICE_FMT(from->name), port, low);
    mem_free(entry);
    return text;
}

static enum err resolve(struct io *io, const struct listener_address *from,
                        struct io_address *ret_address, char **ret_text)
{
    char *host = slice_to_cstr(from->host);
    enum err err = io_resolve(io, host ? host : "", from->port, ret_address);
    if (err) {
        char *entry = written(from, from->port);
        *ret_text = mem_printf(
            "listeners: %s: the host %s has no address. Write a name or an address of this "
            "machine, or none, as in %.*s://:%u, for all of its addresses",
            entry, host ? host : "", SLICE_FMT(from->name), from->port);
        mem_free(entry);
    }
    mem_free(host);
    return err;
}

enum err node_try_listeners(struct io *io, const struct config *config, const char *key,
                            char **ret_text)
{
    const struct listener_list *list = config_listeners(config);
    enum err err = ERR_NONE;
    for (int32_t i = 0; !err && i < list->count; i++) {
        const struct listener_address *from = &list->items[i];
        struct io_address address, bound;
        int fd;
        err = resolve(io, from, &address, ret_text);
        if (err)
            return err;
        err = io_bind(io, &address, &fd, &bound);
        if (err)
            *ret_text = bind_failed(io, key, from, from->port, err);
        else
            io_close(io, fd);
    }
    return err;
}

static enum err bind_one(struct node *node, const struct listener_address *from, char **ret_text)
{
    struct listener_info info = {
        .protocol = from->protocol,
        .controller = is_controller_listener(node, from->name),
    };
    if (from->name.size >= sizeof info.name || node->listener_count == NODE_LISTENERS_MAX) {
        *ret_text =
            mem_printf("listeners: too many, or the name %.*s is too long", SLICE_FMT(from->name));
        return ERR_ARGUMENT;
    }
    memcpy(info.name, from->name.data, from->name.size);
    if (from->protocol != SECURITY_PLAINTEXT) {
        *ret_text = mem_printf("listener %s uses %s, which this version does not serve yet; use "
                               "PLAINTEXT in listener.security.protocol.map",
                               info.name, security_protocol_name(from->protocol));
        return ERR_ARGUMENT;
    }
    struct io_address address;
    enum err err = resolve(node->options.io, from, &address, ret_text);
    if (err)
        return err;
    err = listener_open(node->net, &info, &address, &node->listeners[node->listener_count]);
    if (err)
        *ret_text =
            bind_failed(node->options.io, node->options.listeners_key, from, from->port, err);
    else
        node->listener_count++;
    return err;
}

static enum err bind_all(struct node *node, char **ret_text)
{
    struct net_handler handler = {
        .on_frame = on_frame, .on_close = on_close, .on_peer_closed = on_peer_closed};
    struct net_config net = settings_net(node->static_config, node->memory, &node->files);
    node->net = net_new(node->options.io, &net, node->loops, node->loop_count, &handler, node);
    size_t limit_count;
    struct net_ip_limit *limits =
        settings_ip_limits(node->options.io, node->static_config, &limit_count);
    net_limit_ips(node->net, limits, limit_count);
    mem_free(limits);
    const struct listener_list *list = config_listeners(node->static_config);
    enum err err = ERR_NONE;
    for (int32_t i = 0; !err && i < list->count; i++)
        err = bind_one(node, &list->items[i], ret_text);
    return err;
}

/* ---- 1. folders ---- */

static void folder_failed(void *context, struct log_dir *dir);

/* Folders are told by their absolute path, as Kafka does, wherever the node was started. */
static const char *absolute(struct node *node, struct slice path)
{
    char *text = arena_cstr(&node->arena, path);
    char *full = io_absolute_path(node->options.io, text);
    const char *kept = arena_cstr(&node->arena, slice_str(full));
    mem_free(full);
    return kept;
}

static enum err open_folders(struct node *node, char **ret_text)
{
    const struct config *config = node->static_config;
    struct conf_list paths = config_log_dirs(config);
    const char **names = arena_array(&node->arena, (size_t)paths.count, sizeof *names);
    for (int32_t i = 0; i < paths.count; i++)
        names[i] = absolute(node, paths.items[i]);
    struct log_dirs_options options;
    log_dirs_options_init(&options);
    settings_log_dirs(config, &options);
    options.files_max = node->files.segments;
    options.io = node->options.io;
    options.paths = names;
    options.path_count = paths.count;
    options.paths_key = node->options.dirs_key                        ? node->options.dirs_key
                        : config_is_null(config, BROKER_KEY_LOG_DIRS) ? "log.dir"
                                                                      : "log.dirs";
    options.metadata_path = absolute(node, config_metadata_log_dir(config));
    options.failed_loop = node->meta_loop;
    options.failed = folder_failed;
    options.failed_context = node;
    enum err err = log_dirs_open(&options, &node->context.log_dirs, ret_text);
    if (err)
        return err;
    settings_cordon(config, node->context.log_dirs);
    node->context.cluster_id = arena_dup(&node->arena, log_dirs_cluster_id(node->context.log_dirs));
    return ERR_NONE;
}

/* A folder that fails at run time: the controller learns it; without any folder, or without that of
 * the metadata log, the node ends. */
struct folder_op {
    struct quorum_op op;
    struct arena arena;
    struct uuid id;
    int32_t node_id;
};

static void decide_folder(struct quorum_op *op, struct controller *controller)
{
    struct folder_op *folder = LIST_ITEM(op, struct folder_op, op);
    controller_dirs_offline(controller, folder->node_id, &folder->id, 1);
}

static void folder_done(struct quorum_op *op)
{
    struct folder_op *folder = LIST_ITEM(op, struct folder_op, op);
    arena_fini(&folder->arena);
    mem_free(folder);
}

static void folder_failed(void *data, struct log_dir *dir)
{
    struct node *node = data;
    struct api_context *context = &node->context;
    int online = 0;
    for (int i = 0; i < log_dirs_count(context->log_dirs); i++)
        online += log_dir_online(log_dirs_at(context->log_dirs, i));
    if (!online || dir == log_dirs_metadata(context->log_dirs)) {
        if (node->state < NODE_STOPPING) /* else that has been told, or is asked for */
            diag(DIAG_SERVER, DIAG_FATAL,
                 "%s failed and the node cannot go on without it: it stops. Check the disk, then "
                 "start it again",
                 log_dir_path(dir));
        node->exit_status = 1;
        node_stop(node);
        return;
    }
    if (!node->quorum_started || node->state >= NODE_STOPPING)
        return;
    struct folder_op *folder = mem_zalloc(sizeof *folder);
    arena_init(&folder->arena);
    folder->id = *log_dir_id(dir);
    folder->node_id = context->node_id;
    folder->op = (struct quorum_op){.decide = decide_folder,
                                    .done = folder_done,
                                    .loop = node->meta_loop,
                                    .arena = &folder->arena,
                                    .makes_room = true};
    quorum_submit(context->quorum, &folder->op);
}

/* ---- 3. metadata log ---- */

static void published(void *context, const struct meta_image *old, const struct meta_image *new)
{
    struct node *node = context;
    publish_image(&node->publisher, old, new);
}

/* Under the controller lock. The folder counts as failed, and without it the node ends. */
static void metadata_failed(void *context)
{
    struct node *node = context;
    log_dir_fail(log_dirs_metadata(node->context.log_dirs), "write of the metadata log");
}

static bool make_room(void *context, bool starting)
{
    struct node *node = context;
    return log_dirs_make_room(node->context.log_dirs, starting);
}

static enum err open_quorum(struct node *node, char **ret_text)
{
    struct log_dir *dir = log_dirs_metadata(node->context.log_dirs);
    *ret_text = node_metadata_lost(node);
    if (*ret_text)
        return ERR_NOT_FOUND;
    struct quorum_options options = {
        .io = node->options.io,
        .loop = node->meta_loop,
        .config = node->static_config,
        .cluster_id = node->context.cluster_id,
        .directory_id = *log_dir_id(dir),
        .log_dir = slice_str(log_dir_path(dir)),
        .subscriber = {published, node},
        .failed = metadata_failed,
        .failed_context = node,
        .make_room = make_room,
        .make_room_context = node,
    };
    return quorum_open(&options, &node->context.quorum, ret_text);
}

static void build_services(struct node *node)
{
    struct api_context *context = &node->context;
    const struct config *config = node->static_config;
    context->io = node->options.io;
    context->node_id = config_node_id(config);
    context->unstable_versions = config_bool(config, BROKER_KEY_UNSTABLE_API_VERSIONS_ENABLE);
    context->request_timeout_ms = config_int(config, BROKER_KEY_REQUEST_TIMEOUT_MS);
    context->advertise_as_reached = config_advertise_as_reached(config);
    context->partitions = partition_table_new();
    struct meta_image *image = meta_image_empty();
    struct coord_config coord = settings_coord(config, image);
    meta_image_unref(image);
    context->groups =
        coordinators_new(COORD_GROUPS, context, node->loops, node->loop_count, &coord);
    context->transactions =
        coordinators_new(COORD_TRANSACTIONS, context, node->loops, node->loop_count, &coord);
    context->sessions = fetch_sessions_new(
        context->io,
        (int32_t)config_int(config, BROKER_KEY_MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS),
        node->memory / 8);
    node->publisher = (struct publisher){
        .context = context,
        .net = node->net,
        .loops = node->loops,
        .loop_count = node->loop_count,
        .meta_loop = node->meta_loop,
        .static_config = config,
        .memory = node->memory,
        .files = node->files,
        .is_first = true,
    };
}

static void build_moves(struct node *node)
{
    struct api_context *context = &node->context;
    struct replica_moves_options options = {
        .io = context->io,
        .loop = node->meta_loop,
        .dirs = context->log_dirs,
        .quorum = context->quorum,
        .node_id = context->node_id,
        .busy_count = &context->flush_count,
    };
    context->moves = replica_moves_new(&options);
    struct replica_moves_config config = settings_moves(node->static_config);
    replica_moves_configure(context->moves, &config);
}

static void share_files(struct node *node)
{
    enum { FEW = 1024 };
    const struct config *config = node->static_config;
    int64_t limit = io_raise_file_limit(node->options.io);
    node->files = settings_files(limit, settings_loop_count(config, node->options.io),
                                 config_log_dirs(config).count, config_listeners(config)->count);
    if (limit < FEW)
        diag(DIAG_SERVER, DIAG_WARN,
             "this process may open %lld files only: %d connections are accepted at a time; raise "
             "the limit (ulimit -n, or LimitNOFILE= of the service) for more",
             (long long)limit, node->files.connections);
}

enum err node_build(struct node *node, char **ret_text)
{
    share_files(node);
    node->memory = node->options.memory;
    if (node->memory <= 0)
        node->memory = io_memory_limit(node->options.io) / 4;
    start_loops(node);
    enum err err = open_folders(node, ret_text);
    if (err)
        return err;
    err = bind_all(node, ret_text);
    if (err)
        return err;
    build_services(node);
    log_dirs_start_room(node->context.log_dirs);
    err = open_quorum(node, ret_text);
    if (err)
        return err;
    *ret_text = node_folder_lost(node);
    if (*ret_text)
        return ERR_NOT_FOUND;
    node->context.producer_ids =
        producer_ids_new(node->context.quorum, node->context.node_id, node->meta_loop);
    build_moves(node);
    return ERR_NONE;
}

/* ---- 4. logs ---- */

/* On workers. */
static void load_config(void *data, struct slice topic, struct log_config *ret_config)
{
    struct node *node = data;
    struct topic_config topic_config;
    settings_topic(node->load_config, node->load_image, topic, &topic_config, ret_config);
}

static void loaded(struct log_dirs_load *load);

void node_load(struct node *node)
{
    log_config_init(&node->load.default_config);
    node->load.config = load_config;
    node->load.context = node;
    node->load.done = loaded;
    node->load_image = quorum_image_newest(node->context.quorum);
    /* With what was set at run time: a log that is loaded forgets producers by it. */
    node->load_config = meta_image_node_config(node->load_image, node->static_config);
    node->load.producer_id_next = meta_image_next_producer_id(node->load_image);
    log_dirs_load(node->context.log_dirs, node->meta_loop, &node->load);
}

static void forget_load(struct node *node)
{
    meta_image_unref(node->load_image);
    config_unref(node->load_config);
    node->load_image = NULL;
    node->load_config = NULL;
}

/* ---- 5. registration ---- */

static struct meta_endpoint *endpoints_of(struct node *node, const struct listener_list *list)
{
    struct meta_endpoint *endpoints =
        arena_array(&node->arena, (size_t)list->count, sizeof *endpoints);
    for (int32_t i = 0; i < list->count; i++) {
        const struct listener_address *from = &list->items[i];
        endpoints[i] = (struct meta_endpoint){
            .name = from->name,
            .host = from->host,
            .port = from->port,
            .security_protocol = (int16_t)from->protocol,
        };
        if (!from->host.size) {
            char *name = arena_alloc(&node->arena, HOST_NAME_SIZE);
            endpoints[i].host = slice_str(host_name(name));
        }
        for (int l = 0; !from->port && l < node->listener_count; l++) {
            const struct listener_info *info = listener_info(node->listeners[l]);
            if (slice_eq_str(from->name, info->name))
                endpoints[i].port = info->bound.port;
        }
    }
    return endpoints;
}

static struct controller_registration registration_of(struct node *node)
{
    const struct config *config = node->static_config;
    struct log_dirs *dirs = node->context.log_dirs;
    const struct listener_list *broker = config_advertised_listeners(config);
    const struct listener_list *controller = config_advertised_controller_listeners(config);
    struct controller_registration self = {
        .node_id = node->context.node_id,
        .rack = config_string(config, BROKER_KEY_BROKER_RACK),
        .broker_endpoints = endpoints_of(node, broker),
        .broker_endpoint_count = broker->count,
        .controller_endpoints = endpoints_of(node, controller),
        .controller_endpoint_count = controller->count,
        .previous_epoch = log_dirs_clean_broker_epoch(dirs),
    };
    uint8_t random[16];
    do {
        io_random(node->options.io, random, sizeof random);
    } while (!uuid_from_random(random, &self.incarnation));
    struct uuid *ids = arena_array(&node->arena, (size_t)log_dirs_count(dirs), sizeof(struct uuid));
    for (int i = 0; i < log_dirs_count(dirs); i++) {
        if (log_dir_online(log_dirs_at(dirs, i)))
            ids[self.dir_count++] = *log_dir_id(log_dirs_at(dirs, i));
    }
    self.dirs = ids;
    return self;
}

/* ---- 6. ready ---- */

static void note_addresses(struct node *node)
{
    for (int i = 0; i < node->listener_count; i++) {
        const struct listener_info *info = listener_info(node->listeners[i]);
        bool v6 = strchr(info->bound.host, ':') != NULL;
        buf_printf(&node->addresses, "%s%s %s%s%s:%u", i ? ", " : "", info->name, v6 ? "[" : "",
                   info->bound.host, v6 ? "]" : "", info->bound.port);
    }
    buf_put_i8(&node->addresses, 0);
}

static void start_failed(struct node *node, char *text)
{
    diag(DIAG_SERVER, DIAG_FATAL, "%s",
         text ? text : "the node could not start, for a reason that has no text");
    mem_free(text);
    node->exit_status = 1;
    node_begin_stop(node);
}

enum { LOAD_POLL_NS = 500000, LOAD_WAIT_NS = 500000000 };

/* Ready means that groups can be joined: the coordinators have loaded what they lead. Large ones
 * are not waited for: the rest of the node serves, and their requests are told to come again. */
static void become_ready(struct loop_timer *timer)
{
    struct node *node = LIST_ITEM(timer, struct node, drain_timer);
    int64_t now_ns = io_mono_ns(node->options.io);
    if (coordinators_loading(node->context.groups) +
            coordinators_loading(node->context.transactions) &&
        now_ns < node->load_wait_end_ns && !node->stop_asked) {
        loop_timer_set(node->meta_loop, timer, now_ns + LOAD_POLL_NS);
        return;
    }
    for (int i = 0; i < node->listener_count; i++) {
        enum err err = listener_start(node->listeners[i]);
        if (err) {
            const struct listener_info *info = listener_info(node->listeners[i]);
            const struct listener_address *from =
                listener_list_find(config_listeners(node->static_config), slice_str(info->name));
            start_failed(node, bind_failed(node->options.io, node->options.listeners_key, from,
                                           info->bound.port, err));
            return;
        }
    }
    note_addresses(node);
    node->state = NODE_READY;
    if (node->options.ready)
        node->options.ready(node->options.context, node);
    if (node->stop_asked)
        node_begin_stop(node);
}

static void loaded(struct log_dirs_load *load)
{
    struct node *node = load->context;
    forget_load(node);
    if (node->stop_asked || load->err) {
        if (load->err == ERR_TOO_MANY_FILES)
            start_failed(node, mem_printf("the log folders hold more partitions than this process "
                                          "may have open files: raise the limit (ulimit -n, or "
                                          "LimitNOFILE= of the service)"));
        else if (load->text)
            start_failed(node, load->text);
        else if (load->err)
            start_failed(node,
                         mem_printf("no log folder could be loaded: %s", err_text(load->err)));
        else
            node_begin_stop(node);
        return;
    }
    if (load->recovered)
        diag(DIAG_SERVER, DIAG_INFO, "%d of %d logs recovered after an unclean shutdown",
             load->recovered, load->loaded);
    char *text = node_metadata_damaged(node);
    if (text) {
        start_failed(node, text);
        return;
    }
    struct controller_registration self = registration_of(node);
    if (quorum_start(node->context.quorum, &self, &text)) {
        start_failed(node, text);
        return;
    }
    node->quorum_started = true;
    log_dirs_start(node->context.log_dirs, node->meta_loop);
    node->dirs_started = true;
    node->load_wait_end_ns = io_mono_ns(node->options.io) + LOAD_WAIT_NS;
    node->drain_timer.expired = become_ready;
    become_ready(&node->drain_timer);
}

uint16_t node_port(struct node *node)
{
    for (int i = 0; i < node->listener_count; i++) {
        const struct listener_info *info = listener_info(node->listeners[i]);
        if (!info->controller)
            return info->bound.port;
    }
    return 0;
}
