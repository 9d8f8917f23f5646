/* A cleaning over an io that fails its Nth change of the disk, for each N: once, or from then on,
 * as if the node had been killed there. Whatever was done by then, the next start must find the
 * same last value of every key, and go on to clean. */
#include "store/cleaner_output.h"

#include "cleaner_fixture.h"
#include "faulty_io.h"

enum { NOW = 1000000 };

/* Three segments that become one with all four files, and an active one. */
static void fill(struct log *log)
{
    keyed(log, "a=1 b=1 c=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed_txn(log, "a=x b=x", 1000);
    abort_txn(log);
    keyed(log, "a=2 d=1", 2000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "b c=2", 3000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "e=1", 4000);
}

#define BEFORE "0:a=1 1:b=1 2:c=1 | 3:a=x 4:b=x 5:marker 6:a=2 7:d=1 | 8:b 9:c=2 | 10:e=1"
/* The aborted batch stays as the last one of its producer. */
#define AFTER "[4] 5:marker 6:a=2 7:d=1 8:b 9:c=2! | 10:e=1"

static bool has_text(struct log *log, const char *expected)
{
    char *text = log_text(log);
    bool same = strcmp(text[0] == ' ' ? text + 1 : text, expected) == 0;
    if (!same)
        print_message("%s\n", text);
    mem_free(text);
    return same;
}

static void check_aborted(struct log *log)
{
    struct arena arena;
    arena_init(&arena);
    struct log_read read;
    struct log_aborted *aborted;
    int32_t count;
    assert_int_equal(log_read(log, 3, 1 << 20, true, log_end(log), &read), ERR_NONE);
    assert_int_equal(log_aborted_for(log, &read, &arena, &aborted, &count), ERR_NONE);
    assert_int_equal(count, 1);
    log_range_release(&read.range);
    arena_fini(&arena);
}

static void begin(struct dirs_fixture *x, struct store_fixture *f, struct io *io, long run)
{
    char *root = mem_printf("%s/run%ld", f->root, run);
    assert_int_equal(io_mkdir(f->io, root), ERR_NONE);
    struct store_fixture inner = *f;
    snprintf(inner.root, sizeof inner.root, "%s", root);
    mem_free(root);
    dirs_begin(x, &inner, 1);
    x->f = f;
    x->options.io = io;
    dirs_open(x);
}

/* Ends as if killed, and starts over a sound disk. */
static struct log *restart(struct dirs_fixture *x, struct store_fixture *f)
{
    log_dirs_free(x->dirs);
    x->options.io = f->io;
    dirs_open(x);
    struct log *log = log_dirs_get(x->dirs, SLICE_LIT("t"), 0);
    assert_non_null(log);
    log_set_high_watermark(log, log_end(log));
    /* As a while later. */
    log->recovery_point = log->recovery_saved = log->decided_end = log_end(log);
    return log;
}

static void no_leftovers(struct dirs_fixture *x)
{
    char path[200];
    snprintf(path, sizeof path, "%s/t-0", x->paths[0]);
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(x->f->io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        assert_null(strstr(names[i], ".cleaned"));
        assert_null(strstr(names[i], ".swap"));
    }
    io_free_names(names, count);
}

static void torture(struct store_fixture *f, bool stays, enum err err)
{
    struct faulty faulty;
    faulty_init(&faulty, f->io, FAULT_CHANGE, err);
    f->options.config.cleanup_compact = true;
    f->options.config.dirty_ratio_min = 0;
    f->options.config.index_interval = 1;
    long count = 1;
    int done = 0;
    for (long at = -1; at < count; at++) {
        struct dirs_fixture x;
        faulty.fail_at = -1;
        begin(&x, f, &faulty.io, at);
        struct log *log = dirs_create(&x, "t", 0);
        fill(log);
        assert_true(has_text(log, BEFORE));
        faulty.calls = 0;
        faulty.fail_at = at;
        faulty.stays = stays;
        bool cleaned = clean(&x, NOW) == 1;
        done += cleaned;
        if (at < 0) {
            assert_true(cleaned);
            count = faulty.calls;
            assert_true(count > 25);
        }
        if (log_dir_online(log_dirs_at(x.dirs, 0))) {
            /* Whatever failed, this run goes on, too. */
            assert_true(has_text(log, cleaned ? AFTER : BEFORE));
            assert_int_equal(log->swapping, NULL);
        }
        faulty.stays = false;
        if (!stays) {
            faulty.fail_at = -1;
            if (!cleaned && log_dir_online(log_dirs_at(x.dirs, 0)))
                assert_int_equal(clean(&x, NOW), 1);
        } else {
            faulty.stays = true;
        }
        log = restart(&x, f);
        assert_true(has_text(log, AFTER) || (!cleaned && has_text(log, BEFORE)));
        no_leftovers(&x);
        log->first_dirty = 0;
        assert_int_equal(clean(&x, NOW + 1), 1);
        assert_true(has_text(log, AFTER));
        check_aborted(log);
        keyed(log, "z=1", 5000);
        log = restart(&x, f);
        assert_true(has_text(log, AFTER " 11:z=1"));
        check_aborted(log);
        dirs_end(&x);
    }
    assert_true(done > 0 && done < count);
}

static void the_node_dies_at_each_step(void **state)
{
    torture(*state, true, ERR_IO);
}

static void each_step_fails(void **state)
{
    torture(*state, false, ERR_IO);
}

static void each_step_fails_for_want_of_space(void **state)
{
    torture(*state, false, ERR_DISK_FULL);
}

static void each_step_fails_for_want_of_files(void **state)
{
    torture(*state, false, ERR_TOO_MANY_FILES);
}

/* Truncated between the two halves of the swap: the .swap files must not count at a start. */
static void truncation_revokes_a_swap(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct cleaner_output output;
    assert_int_equal(cleaner_output_open(&output, log, 0), ERR_NONE);
    struct log_range all = {0};
    struct log_read read;
    assert_int_equal(log_read(log, 0, 1 << 20, true, 3, &read), ERR_NONE);
    all = read.range;
    assert_int_equal(log_range_copy(f->io, &all, buf_extend(&output.batches, all.size)), ERR_NONE);
    log_range_release(&read.range);
    assert_int_equal(cleaner_output_write(&output, 1), ERR_NONE);
    assert_int_equal(cleaner_output_sync(&output), ERR_NONE);
    assert_int_equal(cleaner_output_prepare(&output, log, 1000, NULL, 0), ERR_NONE);
    assert_ptr_equal(log->swapping, &output);
    assert_int_equal(log_truncate_to(log, 0), ERR_NONE);
    assert_true(output.revoked);
    assert_null(log->swapping);
    cleaner_output_fini(&output); /* killed */
    log = restart(&x, f);
    assert_true(has_text(log, ""));
    no_leftovers(&x);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_node_dies_at_each_step),
        STORE_TEST(each_step_fails),
        STORE_TEST(each_step_fails_for_want_of_space),
        STORE_TEST(each_step_fails_for_want_of_files),
        STORE_TEST(truncation_revokes_a_swap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
