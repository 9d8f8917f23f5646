#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static void is_taken_away(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    assert_int_equal(log_dirs_clean_broker_epoch(x.dirs), -1);
    struct log_dir *dir = log_dirs_at(x.dirs, 0);
    assert_int_equal(log_dir_write_clean_file(dir, 14), ERR_NONE);
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"),
                        "{\"version\":0,\"brokerEpoch\":14}");
    log_dir_take_clean_file(dir);
    assert_true(dir->clean);
    assert_int_equal(dir->broker_epoch, 14);
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"), "");
    /* Older nodes left an empty one. */
    snprintf(x.f->path, sizeof x.f->path, "%s", x.paths[0]);
    store_poke(x.f, ".kafka_cleanshutdown", 0, "", 0);
    dir->clean = false;
    log_dir_take_clean_file(dir);
    assert_true(dir->clean);
    assert_int_equal(dir->broker_epoch, -1);
    dirs_end(&x);
}

/* A folder that was not there when the others were last used is not as clean as they are, whichever
 * is named first. */
static void all_are_of_one_run(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    static const struct {
        int64_t epochs[2], expected;
    } cases[] = {{{14, 14}, 14}, {{14, 9}, -1}, {{9, 14}, -1}, {{-1, 14}, -1}, {{14, -1}, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int d = 0; d < 2; d++) {
            struct log_dir *dir = log_dirs_at(x.dirs, d);
            assert_int_equal(log_dir_write_clean_file(dir, cases[i].epochs[d]), ERR_NONE);
            log_dir_take_clean_file(dir);
        }
        assert_int_equal(log_dirs_clean_broker_epoch(x.dirs), cases[i].expected);
    }
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(is_taken_away),
        STORE_TEST(all_are_of_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
