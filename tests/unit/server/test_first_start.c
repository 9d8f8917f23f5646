#include "../temp_dir.h"

#include "base/mem.h"
#include "conf/config.h"
#include "os/io_linux.h"
#include "server/first_start.h"
#include "store/log_dirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct io *io;
    char dir[TEMP_DIR_SIZE];
};

static void start(struct fixture *f)
{
    temp_dir_make(f->dir, "/tmp");
    f->io = io_linux_new();
}

static void end(struct fixture *f)
{
    io_linux_free(f->io);
    temp_dir_remove(f->dir);
}

/* As a start does when nothing speaks against it. */
static enum err first_start(struct fixture *f, const char *listen, char **ret_path, char **ret_text)
{
    struct first_start first;
    enum err err = first_start_look(f->io, f->dir, listen, &first, ret_text);
    if (!err && first.is_new)
        err = first_start_format(f->io, &first, ret_text);
    if (!err)
        *ret_path = mem_strdup(first.properties_path);
    first_start_fini(&first);
    return err;
}

static void load(struct fixture *f, const char *path, struct properties *properties)
{
    struct buf text;
    buf_init(&text);
    assert_int_equal(first_start_read_file(f->io, path, &text), ERR_NONE);
    properties_init(properties);
    int line;
    assert_int_equal(properties_parse(properties, buf_slice(&text), &line), ERR_NONE);
    buf_fini(&text);
}

/* The folder is made once, with a configuration that passes the checks of a start. */
static void formats_once(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    char *path = NULL, *text = NULL;
    assert_int_equal(first_start(&f, "127.0.0.1:19192", &path, &text), ERR_NONE);
    struct log_meta meta, again;
    assert_int_equal(log_meta_read(f.io, f.dir, &meta), ERR_NONE);
    assert_int_equal(meta.node_id, 1);
    struct properties properties;
    load(&f, path, &properties);
    struct config *config;
    if (config_new(&properties, &config, &text))
        fail_msg("%s", text);
    assert_true(config_advertise_as_reached(config));
    assert_int_equal(config_listeners(config)->items[0].port, 19192);
    assert_int_equal(config_int(config, BROKER_KEY_OFFSETS_TOPIC_REPLICATION_FACTOR), 1);
    config_unref(config);
    properties_fini(&properties);
    mem_free(path);
    assert_int_equal(first_start(&f, NULL, &path, &text), ERR_NONE);
    assert_int_equal(log_meta_read(f.io, f.dir, &again), ERR_NONE);
    assert_string_equal(meta.cluster_id, again.cluster_id);
    mem_free(path);
    end(&f);
}

/* A start that is refused after it has looked, by a port that is taken, leaves no folder with that
 * port in its server.properties. */
static void looking_makes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    char path[96], *text = NULL;
    snprintf(path, sizeof path, "%s/new", f.dir);
    struct first_start first;
    struct io_stat stat;
    assert_int_equal(first_start_look(f.io, path, "192.0.2.1:9092", &first, &text), ERR_NONE);
    assert_true(first.is_new);
    assert_int_equal(io_stat(f.io, path, &stat), ERR_NOT_FOUND);
    assert_int_equal(first_start_format(f.io, &first, &text), ERR_NONE);
    first_start_fini(&first);
    assert_int_equal(first_start_look(f.io, path, NULL, &first, &text), ERR_NONE);
    assert_false(first.is_new);
    assert_non_null(memmem(first.text.data, first.text.size, "192.0.2.1", strlen("192.0.2.1")));
    first_start_fini(&first);
    end(&f);
}

/* With --listen HOST:0, and where no port is left behind the client's, the controller's port is a
 * real one all the same: the voters name it. */
static void controller_port_is_real(void **state)
{
    (void)state;
    static const char *const listens[] = {"127.0.0.1:0", "127.0.0.1:65535"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        start(&f);
        char *path = NULL, *text = NULL;
        assert_int_equal(first_start(&f, listens[i], &path, &text), ERR_NONE);
        struct properties properties;
        load(&f, path, &properties);
        struct config *config;
        if (config_new(&properties, &config, &text))
            fail_msg("%s", text);
        assert_true(config_controller_listeners(config)->items[0].port >= 1024);
        config_unref(config);
        properties_fini(&properties);
        mem_free(path);
        end(&f);
    }
}

static void check_data(struct fixture *f, const char *log_dirs, const char *expected,
                       enum err error)
{
    struct properties properties;
    char *text = NULL;
    properties_init(&properties);
    properties_set(&properties, slice_str("log.dirs"), slice_str(log_dirs));
    assert_int_equal(first_start_data(f->io, &properties, f->dir, &text), error);
    assert_true(slice_eq_str(properties_get(&properties, slice_str("log.dirs")), expected));
    assert_int_equal(text != NULL, error != ERR_NONE);
    if (text)
        assert_non_null(strstr(text, log_dirs));
    mem_free(text);
    properties_fini(&properties);
}

/* A start in a copy must not write to the folder it was copied from; a moved folder works. */
static void copied_and_moved(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    check_data(&f, f.dir, f.dir, ERR_NONE);
    check_data(&f, "/tmp", "/tmp", ERR_ARGUMENT);
    check_data(&f, "/tmp/klamm-unit-gone", f.dir, ERR_NONE);
    check_data(&f, "klamm-unit-gone", f.dir, ERR_NONE);
    check_data(&f, "/tmp,/var", "/tmp,/var", ERR_NONE);
    end(&f);
}

/* A folder that holds anything else is never formatted. */
static void leaves_other_folders_alone(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    char path[96];
    snprintf(path, sizeof path, "%s/t-0", f.dir);
    assert_int_equal(io_mkdir(f.io, path), ERR_NONE);
    char *file = NULL, *text = NULL;
    assert_int_equal(first_start(&f, NULL, &file, &text), ERR_EXISTS);
    assert_non_null(strstr(text, "t-0"));
    mem_free(text);
    struct log_meta meta;
    assert_int_equal(log_meta_read(f.io, f.dir, &meta), ERR_NOT_FOUND);
    end(&f);
}

static void put_file(struct fixture *f, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, text, strlen(text), 0), ERR_NONE);
    io_close(f->io, fd);
}

/* A format that was cut short at any point is done again; somebody's own file is not overwritten.
 */
static void an_interrupted_format_is_finished(void **state)
{
    (void)state;
    static const char *const cut[][2] = {
        {"server.properties.tmp", "process.ro"},
        {"server.properties", ""},
        {"server.properties", "klamm.advertise.as.reached=true\n"},
        {"meta.properties.tmp", "version=1\n"},
    };
    char *path, *text = NULL;
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        struct fixture f;
        start(&f);
        put_file(&f, cut[i][0], cut[i][1]);
        assert_int_equal(first_start(&f, NULL, &path, &text), ERR_NONE);
        struct log_meta meta;
        assert_int_equal(log_meta_read(f.io, f.dir, &meta), ERR_NONE);
        mem_free(path);
        end(&f);
    }
    struct fixture f;
    start(&f);
    put_file(&f, "server.properties", "node.id=7\n");
    assert_int_equal(first_start(&f, NULL, &path, &text), ERR_EXISTS);
    assert_non_null(strstr(text, "server.properties"));
    mem_free(text);
    end(&f);
}

static void addresses(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    static const char *const wrong[] = {"x", "h:70000", "h:", "h:9x"};
    for (int i = 0; i < 4; i++) {
        char *file = NULL, *text = NULL;
        assert_int_equal(first_start(&f, wrong[i], &file, &text), ERR_ARGUMENT);
        mem_free(text);
    }
    struct properties properties;
    properties_init(&properties);
    properties_set(&properties, slice_str("listeners"), slice_str("PLAINTEXT://a:1,C://b:2"));
    first_start_listen(&properties, "[::1]:7");
    assert_slice_eq(properties_get(&properties, slice_str("listeners")),
                    "PLAINTEXT://[::1]:7,C://b:2");
    first_start_listen(&properties, "0.0.0.0:8");
    assert_slice_eq(properties_get(&properties, slice_str("advertised.listeners")),
                    "PLAINTEXT://localhost:8,C://b:2");
    properties_fini(&properties);
    end(&f);
}

/* The start says nothing about settings that it wrote itself. */
static void own_settings(void **state)
{
    (void)state;
    assert_true(first_start_wrote(slice_str("transaction.state.log.min.isr")));
    assert_false(first_start_wrote(slice_str("log.cleaner.threads")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_once),
        cmocka_unit_test(looking_makes_nothing),
        cmocka_unit_test(controller_port_is_real),
        cmocka_unit_test(copied_and_moved),
        cmocka_unit_test(leaves_other_folders_alone),
        cmocka_unit_test(an_interrupted_format_is_finished),
        cmocka_unit_test(addresses),
        cmocka_unit_test(own_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
