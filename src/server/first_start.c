/* Formats a data folder for the no-config start: meta.properties and a server.properties that both
 * Klamm and Apache Kafka start from. The metadata log itself is begun by the first start, as in
 * Kafka. Settings differ from Kafka's defaults where those cannot work on one machine (replication
 * factors) or only make a first try slow (the initial rebalance delay). */
#include "server/first_start.h"

#include "base/mem.h"
#include "base/uuid.h"
#include "os/diag.h"
#include "store/log_dirs.h"

#include <stdio.h>
#include <string.h>

#define LISTEN_DEFAULT "127.0.0.1:9092"
#define OWN_KEY        "klamm.advertise.as.reached"

enum { PORTS_TRIED = 100 };

struct address {
    char host[256]; /* without brackets */
    uint16_t port;
};

/* "HOST:PORT", "[v6]:PORT", ":PORT", "PORT". */
static bool parse_address(const char *text, struct address *ret_address)
{
    const char *colon = strrchr(text, ':');
    struct slice host = colon ? slice_of(text, (size_t)(colon - text)) : SLICE_NULL;
    int64_t port;
    if (!slice_to_i64(slice_str(colon ? colon + 1 : text), 0, 65535, &port))
        return false;
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_sub(host, 1, host.size - 2);
    if (host.size >= sizeof ret_address->host)
        return false;
    *ret_address = (struct address){.port = (uint16_t)port};
    if (host.size)
        memcpy(ret_address->host, host.data, host.size);
    else
        memcpy(ret_address->host, "127.0.0.1", sizeof "127.0.0.1");
    return true;
}

static void put_address(struct buf *out, const char *name, const char *host, uint16_t port)
{
    bool v6 = strchr(host, ':') != NULL;
    buf_printf(out, "%s://%s%s%s:%u", name, v6 ? "[" : "", host, v6 ? "]" : "", port);
}

/* All addresses cannot be advertised; with advertise-as-reached this is only what is written down.
 */
static const char *advertised_host(const char *host)
{
    return !strcmp(host, "0.0.0.0") || !strcmp(host, "::") ? "localhost" : host;
}

/* The port itself, or with 0 any free one; 0 when it is taken. */
static uint16_t port_if_free(struct io *io, uint16_t port)
{
    struct io_address address = {.host = "127.0.0.1", .port = port}, bound;
    int fd;
    if (io_bind(io, &address, &fd, &bound))
        return 0;
    io_close(io, fd);
    return bound.port;
}

/* Always a real port: it is written into `controller.quorum.voters`. */
static uint16_t free_port_after(struct io *io, uint16_t port)
{
    for (int i = 1; port && i <= PORTS_TRIED && port + i <= 65535; i++) {
        uint16_t found = port_if_free(io, (uint16_t)(port + i));
        if (found)
            return found;
    }
    return port_if_free(io, 0);
}

static void write_listeners(struct properties *properties, const struct address *client,
                            uint16_t controller_port)
{
    struct buf text;
    buf_init(&text);
    put_address(&text, "PLAINTEXT", client->host, client->port);
    buf_put_str(&text, ",");
    put_address(&text, "CONTROLLER", "127.0.0.1", controller_port);
    properties_set(properties, slice_str("listeners"), buf_slice(&text));
    buf_clear(&text);
    put_address(&text, "PLAINTEXT", advertised_host(client->host), client->port);
    buf_put_str(&text, ",");
    put_address(&text, "CONTROLLER", "127.0.0.1", controller_port);
    properties_set(properties, slice_str("advertised.listeners"), buf_slice(&text));
    buf_fini(&text);
}

void first_start_listen(struct properties *properties, const char *listen)
{
    struct address client;
    struct slice old = properties_get(properties, slice_str("listeners"));
    if (!parse_address(listen, &client) || !old.data)
        return;
    /* The controller's listener stays as it is. */
    struct buf text;
    buf_init(&text);
    put_address(&text, "PLAINTEXT", client.host, client.port);
    const uint8_t *comma = memchr(old.data, ',', old.size);
    if (comma)
        buf_put(&text, comma, (size_t)(old.data + old.size - comma));
    properties_set(properties, slice_str("listeners"), buf_slice(&text));
    size_t rest = comma ? (size_t)(old.data + old.size - comma) : 0;
    char *tail = slice_to_cstr(slice_of(text.data + text.size - rest, rest));
    buf_clear(&text);
    put_address(&text, "PLAINTEXT", advertised_host(client.host), client.port);
    buf_put_str(&text, tail);
    properties_set(properties, slice_str("advertised.listeners"), buf_slice(&text));
    mem_free(tail);
    buf_fini(&text);
}

enum err first_start_data(struct io *io, struct properties *properties, const char *data_path,
                          char **ret_text)
{
    struct slice log_dirs = properties_get(properties, slice_str("log.dirs"));
    if (!log_dirs.data || memchr(log_dirs.data, ',', log_dirs.size))
        return ERR_NONE;
    char *named = slice_to_cstr(log_dirs);
    char *named_path = io_absolute_path(io, named), *path = io_absolute_path(io, data_path);
    enum err err = ERR_NONE;
    struct io_stat stat;
    if (!strcmp(named_path, path)) {
        /* as it was written */
    } else if (!io_stat(io, named_path, &stat)) {
        *ret_text = mem_printf("%s/server.properties has log.dirs=%s, another folder that exists: "
                               "was this one copied? Set log.dirs=%s there, or start that one",
                               data_path, named, path);
        err = ERR_ARGUMENT;
    } else {
        properties_set(properties, slice_str("log.dirs"), slice_str(path));
        diag(DIAG_SERVER, DIAG_WARN,
             "%s/server.properties has log.dirs=%s, which is gone: the folder was moved, and %s is "
             "used; set it there, too",
             data_path, named, path);
    }
    mem_free(named);
    mem_free(named_path);
    mem_free(path);
    return err;
}

/* ---- files ---- */

enum err first_start_read_file(struct io *io, const char *path, struct buf *out)
{
    int fd;
    enum err err = io_open(io, path, IO_READ, &fd);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    if (!err && stat.size > PROPERTIES_SIZE_MAX)
        err = ERR_TOO_LARGE;
    size_t size = 0;
    if (!err && stat.size) {
        buf_reserve(out, (size_t)stat.size);
        err = io_pread(io, fd, out->data + out->size, (size_t)stat.size, 0, &size);
    }
    out->size += size;
    io_close(io, fd);
    return err;
}

/* Whole or not at all, for the process may end at any moment. */
static enum err write_file(struct io *io, const char *path, struct slice text)
{
    int fd;
    char *new_path = mem_printf("%s.tmp", path);
    enum err err = io_open(io, new_path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd);
    if (!err) {
        err = io_pwrite(io, fd, text.data, text.size, 0);
        io_close(io, fd);
    }
    if (!err)
        err = io_rename(io, new_path, path);
    mem_free(new_path);
    return err;
}

static const char *const fixed_keys[][2] = {
    {"process.roles", "broker,controller"},
    {"node.id", "1"},
    {"controller.listener.names", "CONTROLLER"},
    {"inter.broker.listener.name", "PLAINTEXT"},
    {"listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
    {"offsets.topic.replication.factor", "1"},
    {"transaction.state.log.replication.factor", "1"},
    {"transaction.state.log.min.isr", "1"},
    {"share.coordinator.state.topic.replication.factor", "1"},
    {"share.coordinator.state.topic.min.isr", "1"},
    {"group.initial.rebalance.delay.ms", "0"},
    {OWN_KEY, "true"},
};

bool first_start_wrote(struct slice key)
{
    for (size_t i = 0; i < sizeof fixed_keys / sizeof fixed_keys[0]; i++) {
        if (slice_eq_str(key, fixed_keys[i][0]))
            return true;
    }
    return false;
}

static void write_properties(struct io *io, const char *data_path, const struct address *client,
                             struct buf *out)
{
    struct properties properties;
    properties_init(&properties);
    for (size_t i = 0; i < sizeof fixed_keys / sizeof fixed_keys[0]; i++)
        properties_set(&properties, slice_str(fixed_keys[i][0]), slice_str(fixed_keys[i][1]));
    uint16_t controller_port = free_port_after(io, client->port);
    write_listeners(&properties, client, controller_port);
    char voter[64];
    int size = snprintf(voter, sizeof voter, "1@127.0.0.1:%u", controller_port);
    properties_set(&properties, slice_str("controller.quorum.voters"),
                   slice_of(voter, (size_t)size));
    char *full_path = io_absolute_path(io, data_path);
    properties_set(&properties, slice_str("log.dirs"), slice_str(full_path));
    mem_free(full_path);
    properties_write(&properties, out);
    properties_fini(&properties);
}

/* ---- the folder ---- */

/* A server.properties that an earlier start without configuration wrote before it was interrupted:
 * it has our own key, or a power cut left it empty. Anybody else's is left alone. */
static bool is_ours(struct io *io, const char *properties_path)
{
    struct buf text;
    buf_init(&text);
    bool ours = !first_start_read_file(io, properties_path, &text) &&
                (!text.size || memmem(text.data, text.size, OWN_KEY, sizeof OWN_KEY - 1));
    buf_fini(&text);
    return ours;
}

/* Names that a format which was interrupted leaves behind. */
static bool is_leftover(struct io *io, const char *name, const char *properties_path)
{
    return !strcmp(name, "server.properties.tmp") || !strcmp(name, "meta.properties.tmp") ||
           (!strcmp(name, "server.properties") && is_ours(io, properties_path));
}

static enum err check_empty(struct io *io, const char *data_path, const char *properties_path,
                            char **ret_text)
{
    char **names;
    size_t count;
    enum err err = io_list_dir(io, data_path, &names, &count);
    if (err == ERR_NOT_FOUND)
        return ERR_NONE;
    if (err) {
        *ret_text = mem_printf("%s: %s", data_path, io_error_text(io, err));
        return err;
    }
    for (size_t i = 0; !err && i < count; i++) {
        if (!strcmp(names[i], "lost+found") || is_leftover(io, names[i], properties_path))
            continue;
        *ret_text = mem_printf("%s is not empty (%s) and was not made by a start without "
                               "configuration: choose another folder with --data, or give a "
                               "properties file",
                               data_path, names[i]);
        err = ERR_EXISTS;
    }
    io_free_names(names, count);
    return err;
}

static struct uuid random_uuid(struct io *io)
{
    uint8_t random[16];
    struct uuid uuid;
    do {
        io_random(io, random, sizeof random);
    } while (!uuid_from_random(random, &uuid));
    return uuid;
}

enum err first_start_look(struct io *io, const char *data_path, const char *listen,
                          struct first_start *ret_start, char **ret_text)
{
    *ret_start = (struct first_start){.data_path = mem_strdup(data_path)};
    buf_init(&ret_start->text);
    ret_start->properties_path = mem_printf("%s/server.properties", data_path);
    const char *path = ret_start->properties_path;
    struct address client;
    if (!parse_address(listen ? listen : LISTEN_DEFAULT, &client)) {
        *ret_text =
            mem_printf("--listen %s: HOST:PORT is wanted, as in 127.0.0.1:9092, or a port alone; "
                       "ports go up to 65535",
                       listen);
        return ERR_ARGUMENT;
    }
    char *meta_path = mem_printf("%s/meta.properties", data_path);
    struct io_stat stat;
    ret_start->is_new = io_stat(io, meta_path, &stat) || io_stat(io, path, &stat);
    mem_free(meta_path);
    enum err err;
    if (ret_start->is_new) {
        err = check_empty(io, data_path, path, ret_text);
        if (!err)
            write_properties(io, data_path, &client, &ret_start->text);
    } else {
        err = first_start_read_file(io, path, &ret_start->text);
        if (err)
            *ret_text = mem_printf("%s: %s", path, io_error_text(io, err));
    }
    return err;
}

enum err first_start_format(struct io *io, const struct first_start *start, char **ret_text)
{
    enum err err = io_mkdir(io, start->data_path);
    if (err && err != ERR_EXISTS) {
        *ret_text =
            mem_printf("%s cannot be created: %s", start->data_path, io_error_text(io, err));
        return err;
    }
    struct log_meta meta = {.version = 1, .node_id = 1, .directory_id = random_uuid(io)};
    struct uuid cluster = random_uuid(io);
    uuid_format(&cluster, meta.cluster_id);
    err = write_file(io, start->properties_path, buf_slice(&start->text));
    if (!err)
        err = log_meta_write(io, start->data_path, &meta);
    if (err)
        *ret_text =
            mem_printf("%s cannot be formatted: %s", start->data_path, io_error_text(io, err));
    return err;
}

void first_start_fini(struct first_start *start)
{
    mem_free(start->data_path);
    mem_free(start->properties_path);
    buf_fini(&start->text);
}
