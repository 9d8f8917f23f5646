#include "store/log_copy.h"

#include "store/log_internal.h"
#include "store_fixture.h"

struct copying {
    struct store_fixture *f;
    char path[128];
    struct log *target;
};

static void begin(struct copying *c, struct store_fixture *f)
{
    c->f = f;
    snprintf(c->path, sizeof c->path, "%s/t-0.copy", f->root);
    struct log_open_options options = f->options;
    options.path = c->path;
    options.clean = true;
    assert_int_equal(log_open(&options, &c->target), ERR_NONE);
    assert_int_equal(log_copy_begin(f->log, c->target), ERR_NONE);
}

static enum err piece(struct copying *c, size_t size_max)
{
    struct log_copy copy;
    enum err err = log_copy_prepare(c->f->log, log_end(c->target), size_max, &copy);
    if (err)
        return err;
    err = log_copy_run(&copy);
    if (!err)
        err = log_copy_finish(c->target, &copy);
    log_copy_end(&copy);
    return err;
}

static void copy_all(struct copying *c, size_t size_max)
{
    for (int i = 0; i < 10000 && log_end(c->target) < log_end(c->f->log); i++)
        assert_int_equal(piece(c, size_max), ERR_NONE);
    assert_int_equal(log_end(c->target), log_end(c->f->log));
    assert_int_equal(piece(c, size_max), ERR_NONE); /* nothing left is no error */
}

static void end(struct copying *c)
{
    log_free(c->target);
    c->target = NULL;
}

static void same_bytes(struct copying *c, const char *name)
{
    char command[400];
    snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", c->f->path, name, c->path, name);
    if (system(command))
        fail_msg("%s differs", name);
}

/* Small pieces: a batch larger than a piece is taken whole. */
static void segments_are_the_same(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 4000;
    f->options.config.index_interval = 200;
    store_open(f);
    for (int i = 0; i < 40; i++)
        store_append(f, 5, 50, 1000 + i);
    assert_true(log_segment_count(f->log) > 3);
    struct copying c;
    begin(&c, f);
    copy_all(&c, 100);
    assert_int_equal(log_segment_count(c.target), log_segment_count(f->log));
    assert_int_equal(log_size(c.target), log_size(f->log));
    assert_int_equal(log_high_watermark(c.target), log_high_watermark(f->log));
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    assert_int_equal(log_close(c.target, true), ERR_NONE);
    for (uint32_t i = 0; i < f->log->segment_count; i++) {
        static const char *const suffixes[] = {"log", "index", "timeindex"};
        for (size_t s = 0; s < 3; s++) {
            char name[64];
            snprintf(name, sizeof name, "%020lld.%s", (long long)f->log->segments[i]->base,
                     suffixes[s]);
            same_bytes(&c, name);
        }
    }
    end(&c);
}

/* Producers that wrote only before the oldest segment are known from its snapshot, and an aborted
 * transaction is indexed. */
static void producers_and_transactions_go_along(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 600;
    store_open(f);
    struct log_appended a;
    assert_int_equal(store_produce(f, 7, 0, 0, 3, false, 1000, &a), ERR_NONE);
    for (int i = 0; i < 10; i++)
        store_append(f, 5, 50, 1000 + i);
    assert_int_equal(log_set_start(f->log, 20), ERR_NONE);
    log_apply_retention(f->log, 1000);
    assert_true(f->log->segments[0]->base > 0);
    assert_int_equal(store_produce(f, 8, 3, 0, 2, true, 2000, &a), ERR_NONE);
    assert_int_equal(store_mark(f, 8, 3, false, 5, 2001, &a), ERR_NONE);
    assert_int_equal(store_produce(f, 9, 1, 0, 2, true, 2002, &a), ERR_NONE);
    log_set_high_watermark(f->log, log_end(f->log));

    struct copying c;
    begin(&c, f);
    copy_all(&c, 1 << 20);
    assert_int_equal(log_start(c.target), log_start(f->log));
    assert_int_equal(log_last_stable(c.target), log_last_stable(f->log));
    assert_true(log_last_stable(c.target) < log_end(c.target));
    struct arena arena;
    arena_init(&arena);
    int32_t count, count_there;
    struct log_producer *list = log_producers(f->log, &arena, &count);
    struct log_producer *there = log_producers(c.target, &arena, &count_there);
    assert_int_equal(count, 3);
    assert_int_equal(count_there, 3);
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(there[i].producer_id, list[i].producer_id);
        assert_int_equal(there[i].producer_epoch, list[i].producer_epoch);
        assert_int_equal(there[i].last_sequence, list[i].last_sequence);
        assert_int_equal(there[i].txn_offset_first, list[i].txn_offset_first);
    }
    uint32_t aborted = 0;
    for (uint32_t i = 0; i < c.target->segment_count; i++)
        aborted += c.target->segments[i]->txn_count;
    assert_int_equal(aborted, 1);
    arena_fini(&arena);
    end(&c);
}

static void taking_over(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    assert_int_equal(log_epoch_assign(f->log, 4), ERR_NONE);
    struct builder_options options = BUILDER_DEFAULTS;
    struct log_appended a;
    assert_int_equal(log_append(f->log, LOG_CLIENT, 4, store_batch(f, &options, 3, 10, 1), &a),
                     ERR_NONE);
    log_set_high_watermark(f->log, 2); /* held back, as with flush.messages=1 */
    assert_int_equal(log_epoch_assign(f->log, 6), ERR_NONE);
    f->log->config.retention_ms = 77;
    struct copying c;
    begin(&c, f);
    copy_all(&c, 1 << 20);
    assert_int_equal(log_epoch_latest(c.target), 4);
    log_copy_take_over(c.target, f->log);
    assert_int_equal(log_epoch_latest(c.target), 6); /* no batch says that */
    assert_int_equal(log_epoch_at(c.target, 0), 4);
    assert_int_equal(log_high_watermark(c.target), 2);
    assert_int_equal(log_config_of(c.target)->retention_ms, 77);
    end(&c);
}

static void what_is_gone_is_out_of_range(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 600;
    store_open(f);
    for (int i = 0; i < 10; i++)
        store_append(f, 5, 50, 1000 + i);
    struct copying c;
    begin(&c, f);
    assert_int_equal(piece(&c, 100), ERR_NONE);
    assert_int_equal(log_set_start(f->log, 40), ERR_NONE);
    log_apply_retention(f->log, 1000);
    assert_int_equal(piece(&c, 100), ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(log_copy_begin(f->log, c.target), ERR_NONE);
    copy_all(&c, 100);
    assert_int_equal(log_start(c.target), 40);
    end(&c);
}

static void truncation_is_told(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    store_append(f, 5, 50, 1000);
    store_append(f, 5, 50, 1000);
    struct log_copy copy;
    assert_int_equal(log_copy_prepare(f->log, 0, 100, &copy), ERR_NONE);
    uint32_t before = copy.truncations;
    log_copy_end(&copy);
    assert_int_equal(log_truncate_to(f->log, 5), ERR_NONE);
    assert_int_equal(log_copy_prepare(f->log, 0, 100, &copy), ERR_NONE);
    assert_int_not_equal(copy.truncations, before);
    log_copy_end(&copy);
}

static void damage_is_not_copied(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    store_append(f, 5, 50, 1000);
    store_append(f, 5, 50, 1000);
    char command[300];
    snprintf(command, sizeof command,
             "printf X | dd of='%s/00000000000000000000.log' bs=1 seek=%lld conv=notrunc "
             "status=none",
             f->path, (long long)log_size(f->log) - 20);
    assert_int_equal(system(command), 0);
    struct copying c;
    begin(&c, f);
    assert_int_equal(piece(&c, 1 << 20), ERR_CORRUPT_MESSAGE);
    assert_int_equal(log_end(c.target), 0);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(segments_are_the_same), STORE_TEST(producers_and_transactions_go_along),
        STORE_TEST(taking_over),           STORE_TEST(what_is_gone_is_out_of_range),
        STORE_TEST(truncation_is_told),    STORE_TEST(damage_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
