/* The machine of transactions: records under way, loading, and that the log gives back what lives,
 * whatever happened: random requests, failing appends, late commits, time, restarts. */
#include "txn_trace.h"

static void test_new_id_on_the_way(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->hold = true;
    init(t, "x");
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    end(t, "x", 1000, 0, false);
    end_v1(t, "x", 1000, 0, false);
    expect(t, "init CONCURRENT_TRANSACTIONS\nadd CONCURRENT_TRANSACTIONS\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    commit_all(t);
    expect(t, "init 1000/0\n");
    trace_free(t);
}

static void test_failed_append_leaves_nothing(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->append_error = ERR_NOT_LEADER_OR_FOLLOWER;
    init(t, "x");
    describe(t, "x");
    expect(t, "init NOT_COORDINATOR\nx TRANSACTIONAL_ID_NOT_FOUND\n");
    assert_int_equal(map_count(&shard_txns(t->shard)->txns), 0);
    t->append_error = ERR_NONE;
    init(t, "x");
    add(t, "x", 1001, 0, "t", 0);
    t->append_error = ERR_MESSAGE_TOO_LARGE;
    init(t, "x"); /* the fence */
    describe(t, "x");
    expect(t, "init 1001/0\nadd NONE\ninit UNKNOWN_SERVER_ERROR\n"
              "x Ongoing 1001/0 timeout 60000 start 0 t-0\n");
    t->append_error = ERR_NONE;
    init(t, "x");
    expect(t, "markers x abort 1001/1 epoch 5 v2 t-0\ninit CONCURRENT_TRANSACTIONS\n");
    trace_free(t);
}

/* What waits when the shard is unloaded is answered; the record may live on in the log. */
static void test_unload(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "y");
    t->hold = true;
    init(t, "x");
    add(t, "y", 1000, 0, "t", 0);
    expect(t, "init 1000/0\n");
    trace_restart(t);
    describe(t, "x");
    describe(t, "y");
    expect(t, "init NOT_COORDINATOR\nadd NOT_COORDINATOR\n"
              "x Empty 1001/0 timeout 60000 start -1\n"
              "y Ongoing 1000/0 timeout 60000 start 0 t-0\n");
    trace_free(t);
}

static enum err load_one(struct slice key, struct slice value)
{
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    struct builder_options options = BUILDER_DEFAULTS;
    struct builder builder;
    builder_begin(&builder, &t->log, &options);
    builder_append(&builder, 0, key, value);
    assert_int_equal(builder_end(&builder), ERR_NONE);
    enum err err = coord_shard_load(t->shard, buf_slice(&t->log));
    assert_int_equal(map_count(&shard_txns(t->shard)->txns), 0);
    trace_free(t);
    return err;
}

static void test_odd_records(void **state)
{
    (void)state;
    assert_int_equal(load_one(SLICE_NULL, SLICE_LIT("v")), ERR_CORRUPT);
    assert_int_equal(load_one(SLICE_LIT("\0\0\0\1x"), SLICE_LIT("v")), ERR_CORRUPT);
    assert_int_equal(load_one(SLICE_LIT("\0\0\0\1x"), SLICE_NULL), ERR_NONE); /* gone already */
    assert_int_equal(load_one(SLICE_LIT("\0\7later"), SLICE_LIT("v")), ERR_NONE);
    assert_int_equal(load_one(SLICE_LIT("\0\0\0\1x"), SLICE_LIT("\0\7later")), ERR_NONE);
}

/* ---- the log gives back what lives -------------------------------------------------------- */

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static const char *const ids[] = {"a", "b", "c"};
static const char *const topics[] = {"t", "u"};

/* An identity that is right, a little off, or absent. */
static void guess(struct trace *t, const char *id, uint64_t *seed, int64_t *ret_producer_id,
                  int *ret_epoch)
{
    const struct txn *txn = shard_txn(t->shard, slice_str(id));
    *ret_producer_id = txn && txn->view ? txn->view->producer_id : 1000;
    *ret_epoch = txn && txn->view ? txn->view->epoch : 0;
    if (next_random(seed) % 4 == 0)
        *ret_epoch -= 1;
    if (next_random(seed) % 16 == 0)
        *ret_epoch += 1;
    if (next_random(seed) % 16 == 0)
        *ret_producer_id -= 1;
    if (*ret_epoch < 0)
        *ret_epoch = 0;
}

static void random_event(struct trace *t, uint64_t *seed)
{
    const char *id = ids[next_random(seed) % 3];
    int64_t producer_id;
    int epoch;
    guess(t, id, seed, &producer_id, &epoch);
    t->hold = next_random(seed) % 3 == 0;
    t->append_error = next_random(seed) % 8 == 0 ? ERR_NOT_ENOUGH_REPLICAS : ERR_NONE;
    switch (next_random(seed) % 16) {
    case 0: init(t, id); break;
    case 1: init_as(t, id, producer_id, epoch); break;
    case 2:
    case 3:
    case 4:
    case 5:
        add_version(t, id, producer_id, epoch, topics[next_random(seed) % 2],
                    (int32_t)(next_random(seed) % 3), next_random(seed) % 2 ? 3 : 5, false);
        break;
    case 6: add_offsets(t, id, producer_id, epoch, 1); break;
    case 7: end(t, id, producer_id, epoch, true); break;
    case 8: end(t, id, producer_id, epoch, false); break;
    case 9: end_v1(t, id, producer_id, epoch, true); break;
    case 10:
    case 11:
    case 12: markers_done(t); break;
    case 13: commit_all(t); break;
    case 14: verify(t, id, producer_id, epoch, "t", 0); break;
    default: wait_ms(t, next_random(seed) % 8 == 0 ? 4000000 : next_random(seed) % 20000); break;
    }
    buf_clear(&t->lines);
}

/* All that records tell, and nothing else, of what is committed. */
static void put_state(struct trace *t, struct buf *out)
{
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const struct txn *txn = shard_txn(t->shard, slice_str(ids[i]));
        if (!txn)
            continue;
        assert_non_null(txn->view);
        assert_null(txn->next);
        put_view(out, txn->id, txn->view);
    }
}

/* Readers never see a step back: a record that is committed stays. */
static void test_log_gives_back_what_lives(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 150; run++) {
        uint64_t seed = run;
        struct coord_config config;
        coord_config_init(&config);
        config.transactional_id_expiration_ms = 3000000;
        config.transaction_version = (int16_t)(run % 3);
        struct trace *t = trace_new_with(&config);
        trace_activate(t);
        t->producer_id_next = 1000;
        for (int i = 0; i < 300; i++) {
            random_event(t, &seed);
            if (next_random(&seed) % 64 == 0) {
                t->acknowledged = t->log_end;
                trace_restart(t);
            }
        }
        t->hold = false;
        t->append_error = ERR_NONE;
        commit_all(t);
        wait_ms(t, 2000); /* what could not be written is by now */
        while (!list_empty(&t->markers))
            markers_done(t);
        buf_clear(&t->lines);
        struct buf live, loaded;
        buf_init(&live);
        buf_init(&loaded);
        put_state(t, &live);
        int64_t log_end = t->log_end;
        trace_restart(t);
        assert_int_equal(t->log_end, log_end); /* nothing was left to be done */
        expect(t, "");
        put_state(t, &loaded);
        assert_int_equal(live.size, loaded.size);
        assert_memory_equal(live.data, loaded.data, live.size);
        buf_fini(&live);
        buf_fini(&loaded);
        trace_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_id_on_the_way),
        cmocka_unit_test(test_failed_append_leaves_nothing),
        cmocka_unit_test(test_unload),
        cmocka_unit_test(test_odd_records),
        cmocka_unit_test(test_log_gives_back_what_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
