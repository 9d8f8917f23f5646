#include "store/cleaner_filter.h"

#include "record/compress.h"
#include "record/control.h"
#include "store/cleaner_keys.h"

#include "../record/record_golden.h"

enum { NOW = 1000000, RETENTION = 500 };

/* A log in memory and what a round of the cleaner makes of it. */
struct round {
    struct arena arena;
    struct buf log, out;
    struct cleaner_map map;
    struct cleaner_txns keys_txns, txns;
    struct cleaner_filter filter;
    struct cleaner_last lasts[4];
    struct txn_index_entry aborted[4];
    int aborted_count;
    int64_t now_ms, offset_end;
    struct builder_options options; /* of the next batch; offsets and sequences count on */
};

static int setup(void **state)
{
    struct round *r = calloc(1, sizeof *r);
    arena_init(&r->arena);
    buf_init(&r->log);
    buf_init(&r->out);
    r->now_ms = NOW;
    r->offset_end = -1;
    r->options = BUILDER_DEFAULTS;
    r->options.leader_epoch = 3;
    cleaner_filter_init(&r->filter);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct round *r = *state;
    cleaner_filter_fini(&r->filter);
    buf_fini(&r->log);
    buf_fini(&r->out);
    arena_fini(&r->arena);
    free(r);
    return 0;
}

/* "a=1 b= c" : keys with values; "b=" has an empty value, "c" none (a tombstone), "=1" no key. */
static void put(struct round *r, const char *records, int64_t time)
{
    struct builder b;
    builder_begin(&b, &r->log, &r->options);
    struct slice rest = slice_str(records);
    int count = 0;
    while (rest.size) {
        const uint8_t *blank = memchr(rest.data, ' ', rest.size);
        size_t size = blank ? (size_t)(blank - rest.data) : rest.size;
        struct slice word = slice_of(rest.data, size), key = word, value = SLICE_NULL;
        rest = slice_of(rest.data + size + (blank != NULL), rest.size - size - (blank != NULL));
        const uint8_t *is = memchr(word.data, '=', word.size);
        if (is) {
            key = slice_of(word.data, (size_t)(is - word.data));
            value = slice_of(is + 1, word.size - key.size - 1);
        }
        builder_append(&b, time + count++, key.size ? key : SLICE_NULL, value);
    }
    assert_int_equal(builder_end(&b), ERR_NONE);
    r->options.base_offset += count;
    if (r->options.base_sequence >= 0)
        r->options.base_sequence += count;
}

static void mark(struct round *r, int64_t producer_id, int16_t epoch, bool commit)
{
    struct control_end_txn marker = {.is_commit = commit, .coordinator_epoch = 1};
    assert_int_equal(control_build_end_txn(&r->log, r->options.base_offset++, 3, 7000, producer_id,
                                           epoch, &marker),
                     ERR_NONE);
}

static void clean_as(struct round *r, int64_t map_slots, enum err expected)
{
    static const struct siphash_key secret = {5, 6};
    assert_int_equal(
        cleaner_map_init(&r->map, map_slots * CLEANER_SLOT_SIZE, 0.9, INT64_MAX, &secret),
        ERR_NONE);
    cleaner_txns_init(&r->keys_txns);
    cleaner_txns_init(&r->txns);
    for (int i = 0; i < r->aborted_count; i++) {
        cleaner_txns_add(&r->keys_txns, &r->aborted[i]);
        cleaner_txns_add(&r->txns, &r->aborted[i]);
    }
    struct cleaner_keys keys = {.map = &r->map, .txns = &r->keys_txns};
    struct batch_iter iter = batch_iter_of(buf_slice(&r->log));
    struct batch_info info;
    while (!keys.full && batch_iter_next(&iter, &info))
        assert_int_equal(cleaner_keys_batch(&keys, &info, slice_of(info.data, info.size)),
                         ERR_NONE);
    r->filter.map = &r->map;
    r->filter.txns = &r->txns;
    r->filter.lasts = r->lasts;
    r->filter.now_ms = r->now_ms;
    r->filter.delete_retention_ms = RETENTION;
    r->filter.offset_end = r->offset_end;
    r->filter.indexed_count = 0;
    buf_clear(&r->out);
    iter = batch_iter_of(buf_slice(&r->log));
    enum err err = ERR_NONE;
    while (!err && batch_iter_next(&iter, &info))
        err = cleaner_filter_batch(&r->filter, &info, slice_of(info.data, info.size), &r->out);
    assert_int_equal(err, expected);
    cleaner_map_fini(&r->map);
    cleaner_txns_fini(&r->keys_txns);
    cleaner_txns_fini(&r->txns);
}

/* Cleans; what comes out is the log then. */
static void clean(struct round *r)
{
    clean_as(r, 100, ERR_NONE);
    struct buf log = r->log;
    r->log = r->out;
    r->out = log;
}

/* "[0-2]0:a=1@1000 2:c@1002": batches with the offsets that they span, and their records. */
static const char *text(struct round *r)
{
    struct buf text;
    buf_init(&text);
    struct batch_iter iter = batch_iter_of(buf_slice(&r->log));
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        assert_int_equal(info.magic, 2);
        assert_true(batch_crc_ok(info.data));
        buf_printf(&text, "%s[%lld-%lld]", text.size ? " " : "", (long long)info.offset_base,
                   (long long)info.offset_last);
        struct records_iter records;
        assert_int_equal(records_iter_init(&records, slice_of(info.data, info.size), 0), ERR_NONE);
        struct record record;
        int count = 0;
        while (records_iter_next(&records, &record)) {
            buf_printf(&text, "%s%lld:", count++ ? " " : "", (long long)record.offset);
            if (batch_is_control(info.data))
                buf_put_str(&text, "marker");
            else
                buf_put_slice(&text, record.key);
            if (record.value.data && !batch_is_control(info.data))
                buf_printf(&text, "=%.*s", SLICE_FMT(record.value));
            buf_printf(&text, "@%lld", (long long)record.timestamp);
        }
        assert_int_equal(records.err, ERR_NONE);
        records_iter_fini(&records);
        if (batch_has_delete_horizon(info.data))
            buf_printf(&text, "!%lld", (long long)batch_base_timestamp(info.data));
    }
    char *copy = arena_cstr(&r->arena, buf_slice(&text));
    buf_fini(&text);
    return copy;
}

/* ---- keys -------------------------------------------------------------------------------------
 */

static void the_last_value_of_each_key_stays(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1 c=1", 1000);
    put(r, "d=1 e=1", 2000);
    put(r, "a=2 b=2", 3000);
    size_t size_d = 0;
    struct batch_iter iter = batch_iter_of(buf_slice(&r->log));
    struct batch_info info;
    batch_iter_next(&iter, &info);
    batch_iter_next(&iter, &info);
    size_d = info.size;
    struct slice untouched = arena_dup(&r->arena, slice_of(info.data, size_d));
    clean(r);
    assert_string_equal(text(r), "[0-2]2:c=1@1002 [3-4]3:d=1@2000 4:e=1@2001 "
                                 "[5-6]5:a=2@3000 6:b=2@3001");
    /* A batch that stays whole is not touched. Of the other one base and max timestamp are those
     * of what stayed. */
    iter = batch_iter_of(buf_slice(&r->log));
    batch_iter_next(&iter, &info);
    assert_int_equal(batch_base_timestamp(info.data), 1002);
    assert_int_equal(info.max_timestamp, 1002);
    assert_int_equal(info.leader_epoch, 3);
    assert_int_equal(batch_record_count(info.data), 1);
    batch_iter_next(&iter, &info);
    assert_true(slice_eq(slice_of(info.data, info.size), untouched));
    assert_int_equal(r->filter.counts.records_read, 7);
    assert_int_equal(r->filter.counts.records_kept, 5);
}

static void a_batch_without_a_last_value_goes(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1", 1000);
    put(r, "b=2 a=2", 2000);
    put(r, "a=3", 3000);
    clean(r);
    assert_string_equal(text(r), "[2-3]2:b=2@2000 [4-4]4:a=3@3000");
    clean(r); /* nothing left to do */
    assert_string_equal(text(r), "[2-3]2:b=2@2000 [4-4]4:a=3@3000");
}

static void records_without_a_key_go(void **state)
{
    struct round *r = *state;
    put(r, "=1 a=1 =2", 1000);
    clean(r);
    assert_string_equal(text(r), "[0-2]1:a=1@1001");
    assert_int_equal(r->filter.counts.keyless, 2);
}

static void what_the_map_does_not_know_stays(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1 a=2 =x c=1 a=3", 1000);
    clean_as(r, 3, ERR_NONE); /* two keys: ends after the second record */
    struct buf swap = r->log;
    r->log = r->out;
    r->out = swap;
    assert_string_equal(text(r), "[0-5]0:a=1@1000 1:b=1@1001 2:a=2@1002 3:=x@1003 4:c=1@1004 "
                                 "5:a=3@1005");
}

static void an_empty_value_is_no_tombstone(void **state)
{
    struct round *r = *state;
    put(r, "a= b=1", 1000);
    clean(r);
    assert_string_equal(text(r), "[0-1]0:a=@1000 1:b=1@1001");
}

/* ---- tombstones -------------------------------------------------------------------------------
 */

static void tombstones_stay_until_their_horizon(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1", 1000);
    put(r, "a b=2", 2000);
    clean(r);
    assert_string_equal(text(r), "[2-3]2:a@2000 3:b=2@2001!1000500");
    r->now_ms = NOW + RETENTION - 1;
    clean(r); /* the horizon is set once */
    assert_string_equal(text(r), "[2-3]2:a@2000 3:b=2@2001!1000500");
    r->now_ms++;
    clean(r);
    assert_string_equal(text(r), "[2-3]3:b=2@2001!1000500");
    struct batch_info info;
    assert_int_equal(batch_peek(buf_slice(&r->log), &info), ERR_NONE);
    assert_int_equal(info.max_timestamp, 2001);
}

/* A tombstone that is not the last of its key goes at once; a batch of which only a value goes
 * keeps its horizon. */
static void a_horizon_is_of_its_batch(void **state)
{
    struct round *r = *state;
    put(r, "a b c=1", 1000);
    clean(r);
    put(r, "a=2 c=2", 2000);
    r->now_ms += RETENTION - 1;
    clean(r);
    assert_string_equal(text(r), "[0-2]1:b@1001!1000500 [3-4]3:a=2@2000 4:c=2@2001");
}

static void a_retention_without_end_sets_no_horizon(void **state)
{
    struct round *r = *state;
    put(r, "a", 1000);
    r->now_ms = INT64_MAX - RETENTION + 1;
    clean(r);
    assert_string_equal(text(r), "[0-0]0:a@1000");
}

/* ---- the last of a producer, and of the round --------------------------------------------------
 */

static void the_last_batch_of_a_producer_stays(void **state)
{
    struct round *r = *state;
    r->options.producer_id = 9;
    r->options.producer_epoch = 2;
    r->options.base_sequence = 0;
    r->options.codec = CODEC_LZ4;
    put(r, "a=1", 1000);
    put(r, "a=2 b=2", 2000);
    r->options.producer_id = -1;
    r->options.producer_epoch = -1;
    r->options.base_sequence = -1;
    put(r, "a=3 b=3", 3000);
    r->lasts[0] = (struct cleaner_last){9, 2, 2};
    r->filter.last_count = 1;
    clean(r);
    assert_string_equal(text(r), "[1-2] [3-4]3:a=3@3000 4:b=3@3001");
    const uint8_t *b = r->log.data;
    assert_int_equal(batch_size(b), BATCH_HEADER_SIZE);
    assert_int_equal(batch_producer_id(b), 9);
    assert_int_equal(batch_producer_epoch(b), 2);
    assert_int_equal(batch_base_sequence(b), 1);
    assert_int_equal(batch_last_sequence(b), 2);
    assert_int_equal(batch_record_count(b), 0);
    assert_int_equal(batch_attributes(b), 0);
    assert_int_equal(batch_base_timestamp(b), -1);
    assert_int_equal(batch_max_timestamp(b), 2001);
    assert_int_equal(batch_leader_epoch(b), 3);
    clean(r);
    assert_string_equal(text(r), "[1-2] [3-4]3:a=3@3000 4:b=3@3001");
    r->filter.last_count = 0; /* it expired */
    clean(r);
    assert_string_equal(text(r), "[3-4]3:a=3@3000 4:b=3@3001");
}

static void the_end_of_the_round_stays(void **state)
{
    struct round *r = *state;
    put(r, "a=1", 1000);
    put(r, "a", 2000);
    r->offset_end = 2;
    clean(r);
    assert_string_equal(text(r), "[1-1]1:a@2000!1000500");
    r->now_ms += RETENTION;
    clean(r);
    assert_string_equal(text(r), "[1-1]");
    r->offset_end = 1; /* a later round ends elsewhere */
    clean(r);
    assert_string_equal(text(r), "");
}

/* ---- transactions -----------------------------------------------------------------------------
 */

static void begin_txn(struct round *r, int64_t producer_id)
{
    r->options.producer_id = producer_id;
    r->options.producer_epoch = 0;
    r->options.base_sequence = 0;
    r->options.transactional = true;
}

static void a_commit_marker_goes_after_its_data(void **state)
{
    struct round *r = *state;
    begin_txn(r, 4);
    put(r, "a=1", 1000);
    mark(r, 4, 0, true);
    clean(r);
    assert_string_equal(text(r), "[0-0]0:a=1@1000 [1-1]1:marker@7000");
    put(r, "a=2", 2000);
    mark(r, 4, 0, true);
    clean(r); /* this round still saw the data that it drops */
    assert_string_equal(text(r), "[1-1]1:marker@7000 [2-2]2:a=2@2000 [3-3]3:marker@7000");
    clean(r);
    assert_string_equal(text(r), "[1-1]1:marker@7000!1000500 [2-2]2:a=2@2000 [3-3]3:marker@7000");
    r->now_ms += RETENTION;
    clean(r);
    assert_string_equal(text(r), "[2-2]2:a=2@2000 [3-3]3:marker@7000");
}

static void aborted_records_go_at_once_and_the_marker_later(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1", 1000);
    begin_txn(r, 4);
    put(r, "a=2", 2000);
    mark(r, 4, 0, false);
    r->aborted[0] = (struct txn_index_entry){4, 2, 3, 4};
    r->aborted_count = 1;
    clean(r);
    assert_string_equal(text(r), "[0-1]0:a=1@1000 1:b=1@1001 [3-3]3:marker@7000");
    assert_int_equal(r->filter.indexed_count, 1);
    assert_int_equal(r->filter.indexed[0].offset_first, 2);
    clean(r);
    assert_string_equal(text(r), "[0-1]0:a=1@1000 1:b=1@1001 [3-3]3:marker@7000!1000500");
    assert_int_equal(r->filter.indexed_count, 0); /* the new index forgets it */
    r->aborted_count = 0;
    r->now_ms += RETENTION;
    clean(r);
    assert_string_equal(text(r), "[0-1]0:a=1@1000 1:b=1@1001");
}

/* With a raised epoch the producer has no batch any more; its marker holds the epoch. */
static void the_marker_with_the_epoch_of_a_producer_stays(void **state)
{
    struct round *r = *state;
    begin_txn(r, 4);
    put(r, "a=1", 1000);
    mark(r, 4, 1, true);
    r->options = BUILDER_DEFAULTS;
    r->options.base_offset = 2;
    put(r, "a=2", 2000);
    r->lasts[0] = (struct cleaner_last){4, -1, 1};
    r->filter.last_count = 1;
    clean(r);
    clean(r);
    assert_string_equal(text(r), "[1-1]1:marker@7000!1000500 [2-2]2:a=2@2000");
    r->now_ms += RETENTION;
    clean(r);
    assert_string_equal(text(r), "[1-1] [2-2]2:a=2@2000");
    assert_true(batch_is_control(r->log.data));
    assert_true(batch_is_transactional(r->log.data));
    clean(r);
    assert_string_equal(text(r), "[1-1] [2-2]2:a=2@2000");
    r->filter.last_count = 0;
    clean(r);
    assert_string_equal(text(r), "[2-2]2:a=2@2000");
}

/* ---- formats ----------------------------------------------------------------------------------
 */

/* A batch that loses a record keeps its codec and everything of those that stay. */
static void every_codec_is_kept(void **state)
{
    struct round *r = *state;
    static const char *const names[] = {"v2-none", "v2-gzip", "v2-snappy", "v2-lz4", "v2-zstd"};
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        buf_clear(&r->log);
        buf_put_slice(&r->log, golden_row("record/java-batches.tsv", names[codec], &r->arena));
        struct slice before = arena_dup(&r->arena, buf_slice(&r->log));
        clean(r);
        const uint8_t *b = r->log.data;
        assert_int_equal(batch_check(buf_slice(&r->log)), ERR_NONE);
        assert_int_equal(batch_codec(b), codec);
        assert_true(batch_has_delete_horizon(b)); /* the fourth is a tombstone */
        assert_int_equal(batch_base_timestamp(b), NOW + RETENTION);
        assert_int_equal(batch_record_count(b), 4);
        assert_memory_equal(b + 23, before.data + 23, 4);  /* last offset delta */
        assert_memory_equal(b + 35, before.data + 35, 22); /* max timestamp, producer */
        assert_memory_equal(b, before.data, 8);
        struct records_iter iter;
        struct record record;
        assert_int_equal(records_iter_init(&iter, buf_slice(&r->log), 0), ERR_NONE);
        for (int i = 0; i < 5; i++) {
            if (i == 2)
                continue; /* it has no key */
            assert_true(records_iter_next(&iter, &record));
            golden_check(&record, i, true);
            assert_int_equal(record.offset, 7 + i);
            assert_int_equal(record.timestamp, GOLDEN_TS + i * 10);
        }
        records_iter_fini(&iter);
    }
}

static void append_time_is_of_the_batch(void **state)
{
    struct round *r = *state;
    r->options.log_append_time = true;
    r->options.log_append_time_ms = 8888;
    put(r, "a=1 b=1 a=2", 1000);
    clean(r);
    assert_string_equal(text(r), "[0-2]1:b=1@8888 2:a=2@8888");
    assert_true(batch_is_log_append_time(r->log.data));
    assert_int_equal(batch_max_timestamp(r->log.data), 8888);
}

static void old_formats_are_converted(void **state)
{
    struct round *r = *state;
    static const char *const names[] = {"v0-none", "v0-gzip", "v1-none", "v1-lz4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool compressed = names[i][3] != 'n', v1 = names[i][1] == '1';
        for (int keep = 0; keep < 2; keep++) {
            buf_clear(&r->log);
            buf_put_slice(&r->log, golden_row("record/java-batches.tsv", names[i], &r->arena));
            r->filter.keep_legacy_tombstones = keep;
            clean(r);
            struct batch_iter iter = batch_iter_of(buf_slice(&r->log));
            struct batch_info info;
            int batches = 0, records = 0;
            while (batch_iter_next(&iter, &info)) {
                assert_int_equal(info.magic, 2);
                assert_int_equal(batch_check(slice_of(info.data, info.size)), ERR_NONE);
                assert_int_equal(batch_producer_id(info.data), -1);
                assert_int_equal(info.leader_epoch, -1);
                assert_int_equal(info.max_timestamp > 0, v1);
                batches++;
                records += batch_record_count(info.data);
            }
            assert_int_equal(records, 3 + keep);
            assert_int_equal(batches, compressed ? 1 : records);
            assert_int_equal(info.offset_last, 104);
        }
    }
}

static void errors_leave_nothing(void **state)
{
    struct round *r = *state;
    put(r, "a=1 b=1 a=2", 1000);
    r->filter.record_size_max = 0;
    clean_as(r, 100, ERR_NONE);
    be_put_i32(r->log.data + 57, 4);
    batch_seal(r->log.data);
    struct batch_info info;
    assert_int_equal(batch_peek(buf_slice(&r->log), &info), ERR_NONE);
    static const struct siphash_key secret = {5, 6};
    assert_int_equal(cleaner_map_init(&r->map, 240, 0.9, 9, &secret), ERR_NONE);
    cleaner_txns_init(&r->txns);
    size_t before = r->out.size;
    assert_int_equal(cleaner_filter_batch(&r->filter, &info, buf_slice(&r->log), &r->out),
                     ERR_INVALID_RECORD);
    assert_int_equal(r->out.size, before);
    cleaner_map_fini(&r->map);
    cleaner_txns_fini(&r->txns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_value_of_each_key_stays),
        TEST(a_batch_without_a_last_value_goes),
        TEST(records_without_a_key_go),
        TEST(what_the_map_does_not_know_stays),
        TEST(an_empty_value_is_no_tombstone),
        TEST(tombstones_stay_until_their_horizon),
        TEST(a_horizon_is_of_its_batch),
        TEST(a_retention_without_end_sets_no_horizon),
        TEST(the_last_batch_of_a_producer_stays),
        TEST(the_end_of_the_round_stays),
        TEST(a_commit_marker_goes_after_its_data),
        TEST(aborted_records_go_at_once_and_the_marker_later),
        TEST(the_marker_with_the_epoch_of_a_producer_stays),
        TEST(every_codec_is_kept),
        TEST(append_time_is_of_the_batch),
        TEST(old_formats_are_converted),
        TEST(errors_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
