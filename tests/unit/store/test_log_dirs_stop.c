#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static void leaves_a_clean_folder(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 5);
    dirs_create(&x, "u", 0);
    dirs_stop(&x);
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"),
                        "{\"version\":0,\"brokerEpoch\":42}");
    assert_string_equal(dirs_text(&x, "recovery-point-offset-checkpoint"), "0\n2\nt 0 5\nu 0 0\n");
    assert_string_equal(dirs_text(&x, "log-start-offset-checkpoint"), "0\n0\n");
    dirs_open(&x);
    assert_int_equal(log_dirs_clean_broker_epoch(x.dirs), 42);
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"), "");
    assert_int_equal(x.load.loaded, 2);
    dirs_end(&x);
}

/* The marker must not be there when a log could not be closed. */
static void a_failed_close_leaves_no_marker(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 5);
    char path[256];
    snprintf(path, sizeof path, "%s/t-0/00000000000000000000.index", x.paths[0]);
    io_unlink(x.f->io, path);
    assert_int_equal(io_mkdir(x.f->io, path), ERR_NONE);
    dirs_stop(&x);
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"), "");
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(leaves_a_clean_folder),
        STORE_TEST(a_failed_close_leaves_no_marker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
