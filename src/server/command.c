/* The server as a command: words, properties file, signals, and waiting for the end.
 *
 * The stop signals are watched from before the first step, so a SIGTERM at any moment stops in
 * order with status 0. The main thread builds the node, then waits for the latch that the node's
 * end opens; nothing else happens on it. */
#include "server/command.h"

#include "base/mem.h"
#include "conf/config.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "os/latch.h"
#include "os/notify.h"
#include "server/first_start.h"
#include "server/node.h"

#include <stdatomic.h>
#include <string.h>

/* ---- words ---- */

static bool take_value(int argc, char *const *argv, int *at, const char *name,
                       const char **ret_value)
{
    size_t size = strlen(name);
    if (strncmp(argv[*at], name, size) != 0)
        return false;
    if (argv[*at][size] == '=') {
        *ret_value = argv[*at] + size + 1;
        return true;
    }
    if (argv[*at][size] || *at + 1 >= argc)
        return false;
    *ret_value = argv[++*at];
    return true;
}

/* "268435456", "256k", "256M", "1G" or "25%". */
static bool parse_memory(const char *text, struct server_options *options)
{
    enum { MEMORY_MIN = 16 << 20 };
    struct slice digits = slice_str(text);
    char unit = digits.size ? text[digits.size - 1] : '0';
    int shift = unit == 'k' || unit == 'K'   ? 10
                : unit == 'm' || unit == 'M' ? 20
                : unit == 'g' || unit == 'G' ? 30
                                             : 0;
    if (shift || unit == '%')
        digits.size--;
    int64_t value;
    if (!slice_to_i64(digits, 1, unit == '%' ? 100 : INT64_MAX >> shift, &value))
        return false;
    if (unit == '%') {
        options->memory_percent = (int)value;
        return true;
    }
    options->memory = value << shift;
    return options->memory >= MEMORY_MIN;
}

static bool add_override(const char *text, struct server_options *options)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || options->override_count == SERVER_OVERRIDES_MAX)
        return false;
    options->overrides[options->override_count++] = text;
    return true;
}

/* A word that no option took. */
static char *unknown_word(const char *word, const struct server_options *options)
{
    if (word[0] != '-')
        return mem_printf("%s: the properties file is given already (%s)", word,
                          options->properties_path);
    static const char *const with_value[] = {"--data", "--listen", "--override", "--memory",
                                             "--ready-fd"};
    for (size_t i = 0; i < sizeof with_value / sizeof with_value[0]; i++) {
        if (!strcmp(word, with_value[i]))
            return mem_printf("%s: its value is missing", word);
    }
    return mem_printf("%s: no such option", word);
}

enum err server_options_parse(int argc, char *const *argv, struct server_options *ret_options,
                              char **ret_text)
{
    struct server_options options = {.ready_fd = -1};
    for (int i = 0; i < argc; i++) {
        const char *fd = NULL, *memory = NULL, *override = NULL;
        if (take_value(argc, argv, &i, "--data", &options.data_path) ||
            take_value(argc, argv, &i, "--listen", &options.listen))
            continue;
        if (take_value(argc, argv, &i, "--override", &override)) {
            if (!add_override(override, &options)) {
                *ret_text = mem_printf("--override %s: KEY=VALUE is wanted, %d times at most",
                                       override, SERVER_OVERRIDES_MAX);
                return ERR_ARGUMENT;
            }
            continue;
        }
        if (take_value(argc, argv, &i, "--memory", &memory)) {
            if (!parse_memory(memory, &options)) {
                *ret_text = mem_printf("--memory %s: give bytes (at least 16M; k, M and G are "
                                       "understood) or a part of the machine's as 1%% to 100%%",
                                       memory);
                return ERR_ARGUMENT;
            }
            continue;
        }
        if (take_value(argc, argv, &i, "--ready-fd", &fd)) {
            int64_t value;
            if (!slice_to_i64(slice_str(fd), 0, 65535, &value) || !notify_fd_is_open((int)value)) {
                *ret_text = mem_printf("--ready-fd %s: not an open file descriptor", fd);
                return ERR_ARGUMENT;
            }
            options.ready_fd = (int)value;
            continue;
        }
        if (argv[i][0] == '-' || options.properties_path) {
            *ret_text = unknown_word(argv[i], &options);
            return ERR_ARGUMENT;
        }
        options.properties_path = argv[i];
    }
    if (options.properties_path && (options.data_path || options.listen)) {
        *ret_text = mem_printf("--data and --listen are for a start without a properties file; "
                               "set log.dirs and listeners in %s instead",
                               options.properties_path);
        return ERR_ARGUMENT;
    }
    *ret_options = options;
    return ERR_NONE;
}

/* ---- configuration ---- */

static enum err parse_properties(const char *path, const struct buf *text,
                                 struct properties *properties, char **ret_text)
{
    int line = 0;
    enum err err = properties_parse(properties, buf_slice(text), &line);
    if (err)
        *ret_text = mem_printf("%s: line %d is malformed", path, line);
    return err;
}

static enum err read_properties(struct io *io, const char *path, struct properties *properties,
                                char **ret_text)
{
    struct buf text;
    buf_init(&text);
    enum err err = first_start_read_file(io, path, &text);
    if (err)
        *ret_text = mem_printf("%s: %s", path, io_error_text(io, err));
    else
        err = parse_properties(path, &text, properties, ret_text);
    buf_fini(&text);
    return err;
}

static void put_overrides(const struct server_options *options, struct properties *properties)
{
    for (int i = 0; i < options->override_count; i++) {
        const char *text = options->overrides[i], *equals = strchr(text, '=');
        properties_set(properties, slice_of(text, (size_t)(equals - text)), slice_str(equals + 1));
    }
}

static enum err check_config(const struct server_options *options, struct properties *properties,
                             struct config **ret_config, char **ret_text)
{
    put_overrides(options, properties);
    enum err err = config_new(properties, ret_config, ret_text);
    return err ? err : config_check_served(*ret_config, ret_text);
}

/* What a start without a properties file takes its addresses from. */
#define FIRST_LISTENERS_KEY "--listen"

/* Without a properties file. The folder is made once nothing speaks against the start any more. */
static enum err load_first(struct io *io, const struct server_options *options,
                           struct properties *properties, struct config **ret_config,
                           char **ret_text)
{
    struct first_start first;
    const char *data_path = options->data_path ? options->data_path : "klamm-data";
    enum err err = first_start_look(io, data_path, options->listen, &first, ret_text);
    if (!err)
        err = parse_properties(first.properties_path, &first.text, properties, ret_text);
    if (!err)
        err = first_start_data(io, properties, data_path, ret_text);
    if (!err && options->listen)
        first_start_listen(properties, options->listen);
    if (!err)
        err = check_config(options, properties, ret_config, ret_text);
    if (!err && first.is_new)
        err = node_try_listeners(io, *ret_config, FIRST_LISTENERS_KEY, ret_text);
    if (!err && first.is_new)
        err = first_start_format(io, &first, ret_text);
    first_start_fini(&first);
    return err;
}

static enum err load_config(struct io *io, const struct server_options *options,
                            struct config **ret_config, char **ret_text)
{
    struct properties properties;
    properties_init(&properties);
    enum err err;
    if (options->properties_path) {
        err = read_properties(io, options->properties_path, &properties, ret_text);
        if (!err)
            err = check_config(options, &properties, ret_config, ret_text);
    } else {
        err = load_first(io, options, &properties, ret_config, ret_text);
    }
    properties_fini(&properties);
    return err;
}

/* Keys that do nothing here, said once; not those that a start without a properties file wrote. */
static void tell_notes(const struct config *config, bool own_file)
{
    static const struct {
        enum config_note note;
        enum diag_level level;
        const char *text;
    } notes[] = {
        {CONFIG_NOTE_UNKNOWN, DIAG_WARN, "unknown settings are ignored"},
        {CONFIG_NOTE_NO_LISTENER, DIAG_WARN,
         "settings below listener.name. that name no listener are ignored (the name of one in "
         "listeners or controller.listener.names is wanted, in lower case)"},
        {CONFIG_NOTE_LATER, DIAG_WARN, "these settings have no effect yet"},
        {CONFIG_NOTE_PLUGIN, DIAG_WARN,
         "these settings name Java classes, which Klamm does not load; what they would check or "
         "report is not done"},
        {CONFIG_NOTE_IDLE, DIAG_INFO,
         "these settings change nothing in Klamm (docs/CONFIGURATION.md says why)"},
    };
    struct buf line;
    buf_init(&line);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        struct slice key;
        int32_t at = 0;
        buf_clear(&line);
        while ((key = config_note_next(config, notes[i].note, &at)).data)
            if (!own_file || !first_start_wrote(key))
                buf_printf(&line, "%s%.*s", line.size ? ", " : "", SLICE_FMT(key));
        if (line.size)
            diag(DIAG_SERVER, notes[i].level, "%s: %.*s", notes[i].text,
                 SLICE_FMT(buf_slice(&line)));
    }
    buf_fini(&line);
}

static void tell_keys(const struct config *config, bool own_file)
{
    tell_notes(config, own_file);
    struct buf line;
    buf_init(&line);
    if (config_list(config, BROKER_KEY_CONFIG_PROVIDERS).count > 0)
        diag(DIAG_SERVER, DIAG_WARN, "config.providers has no effect: Klamm loads no Java classes");
    struct slice key;
    int32_t at = 0;
    while ((key = config_reference_next(config, &at)).data)
        buf_printf(&line, "%s%.*s", line.size ? ", " : "", SLICE_FMT(key));
    if (line.size)
        diag(DIAG_SERVER, DIAG_WARN,
             "these values hold ${...}, which nothing fills in; they are taken as they stand: %.*s",
             SLICE_FMT(buf_slice(&line)));
    buf_fini(&line);
}

/* ---- the process ---- */

struct process {
    struct io *io;
    const struct server_options *options;
    struct latch ended;
    int64_t begun_ns;
    int exit_status;
    bool over; /* metadata loop: the node has stopped, and may be freed at any time */
    _Atomic(struct node *) node;
    atomic_bool stop_asked;
};

static void on_signal(void *context)
{
    struct process *process = context;
    atomic_store(&process->stop_asked, true);
    struct node *node = atomic_load(&process->node);
    if (!node || process->over)
        return;
    notify_systemd("STOPPING=1");
    node_stop(node);
}

static void on_ready(void *context, struct node *node)
{
    struct process *process = context;
    int64_t us = (io_mono_ns(process->io) - process->begun_ns) / 1000;
    diag(DIAG_SERVER, DIAG_INFO, "ready in %d.%d ms: %s; cluster %.*s", (int)(us / 1000),
         (int)(us % 1000 / 100), node_addresses(node), SLICE_FMT(node_cluster_id(node)));
    notify_fd(process->options->ready_fd);
    notify_systemd("READY=1");
}

static void on_stopped(void *context, int exit_status)
{
    struct process *process = context;
    process->exit_status = exit_status;
    process->over = true;
    latch_open(&process->ended);
}

static void on_hung(void *context)
{
    (void)context;
    io_linux_exit(1);
}

/* Bytes asked for; 0 leaves it to the node. */
static int64_t memory_of(const struct process *process)
{
    const struct server_options *options = process->options;
    if (options->memory_percent)
        return io_memory_limit(process->io) / 100 * options->memory_percent;
    return options->memory;
}

static enum err start(struct process *process, struct loop *loop, struct config **ret_config,
                      char **ret_text)
{
    enum err err = load_config(process->io, process->options, ret_config, ret_text);
    if (err)
        return err;
    tell_keys(*ret_config, !process->options->properties_path);
    struct node_options options = {
        .io = process->io,
        .loop = loop,
        .config = *ret_config,
        .memory = memory_of(process),
        .dirs_key = process->options->properties_path ? NULL : "--data",
        .listeners_key = process->options->properties_path ? NULL : FIRST_LISTENERS_KEY,
        .ready = on_ready,
        .stopped = on_stopped,
        .hung = on_hung,
        .context = process,
    };
    struct node *node;
    err = node_start(&options, &node, ret_text);
    if (!err)
        atomic_store(&process->node, node);
    return err;
}

int server_run(struct io *io, const struct server_options *options)
{
    struct process process = {.io = io, .options = options, .begun_ns = io_mono_ns(io)};
    latch_init(&process.ended);
    struct loop *loop = loop_start(io, "meta");
    struct config *config = NULL;
    char *text = NULL;
    enum err err = io_on_stop(io, loop, on_signal, &process);
    if (!err)
        err = start(&process, loop, &config, &text);
    if (err) {
        diag(DIAG_SERVER, DIAG_FATAL, "%s", text ? text : err_text(err));
        process.exit_status = atomic_load(&process.stop_asked) ? 0 : 1;
    } else {
        if (atomic_load(&process.stop_asked))
            node_stop(atomic_load(&process.node));
        latch_wait(&process.ended);
        node_free(atomic_exchange(&process.node, NULL));
        diag(DIAG_SERVER, DIAG_INFO, "stopped");
    }
    mem_free(text);
    config_unref(config);
    loop_stop(loop);
    latch_fini(&process.ended);
    return process.exit_status;
}
