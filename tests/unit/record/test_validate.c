#include "record/validate.h"

#include "base/mem.h"
#include "base/thread_exit.h"
#include "record/compress.h"
#include "record_golden.h"

enum { DAY_MS = 86400000 };

/* Cases where Klamm is stricter: a compressed record whose length field is not that of its fields.
 */
static const char *const stricter[] = {"record size one more gzip", "record size one less gzip",
                                       "record size 0 gzip"};

struct answer {
    char name[64];
    struct slice kind, message, errors, sent, stored;
    int64_t version, error;
    bool has_append_time;
};

static bool read_answer(struct slice *rest, struct arena *a, struct answer *ret)
{
    struct slice line = golden_cut(rest, '\n');
    if (!line.data)
        return false;
    struct slice name = golden_cut(&line, '\t');
    snprintf(ret->name, sizeof ret->name, "%.*s", SLICE_FMT(name));
    ret->kind = golden_cut(&line, '\t');
    assert_true(slice_to_i64(golden_cut(&line, '\t'), 0, 99, &ret->version));
    assert_true(slice_to_i64(golden_cut(&line, '\t'), -1, 200, &ret->error));
    ret->message = golden_cut(&line, '\t');
    ret->errors = golden_cut(&line, '\t');
    ret->has_append_time = golden_cut(&line, '\t').size > 0;
    ret->sent = golden_unhex(golden_cut(&line, '\t'), a);
    ret->stored = golden_unhex(line, a);
    return true;
}

/* The broker's clock, from the text that names a time limit; else the time in the batch. */
static int64_t now_of(const struct answer *answer)
{
    const uint8_t *at = memchr(answer->errors.data, '[', answer->errors.size);
    int64_t low;
    if (at) {
        const uint8_t *end =
            memchr(at, ',', (size_t)(answer->errors.data + answer->errors.size - at));
        assert_true(slice_to_i64(slice_of(at + 1, (size_t)(end - at - 1)), 0, INT64_MAX, &low));
        return low + DAY_MS;
    }
    if (answer->has_append_time)
        return batch_max_timestamp(answer->stored.data);
    return answer->sent.size >= BATCH_HEADER_SIZE ? batch_base_timestamp(answer->sent.data) : 0;
}

static struct validate_options options_of(const struct answer *answer, char topic[64])
{
    snprintf(topic, 64, "rex-golden-%.*s", SLICE_FMT(answer->kind));
    struct validate_options o = {
        .topic = slice_str(topic),
        .origin = VALIDATE_CLIENT,
        .produce_version = (int16_t)answer->version,
        .compacted = memmem(answer->kind.data, answer->kind.size, "compact", 7),
        .log_append_time = memmem(answer->kind.data, answer->kind.size, "logappend", 9),
        .now_ms = now_of(answer),
        .timestamp_before_max_ms = INT64_MAX,
        .timestamp_after_max_ms = 3600000,
        .codec = VALIDATE_CODEC_PRODUCER,
        .batch_size_max = 1048588,
    };
    static const char *const codecs[CODEC_COUNT] = {"none", "gzip", "snappy", "lz4", "zstd"};
    if (memmem(answer->kind.data, answer->kind.size, "limits", 6))
        o.timestamp_before_max_ms = o.timestamp_after_max_ms = DAY_MS;
    if (slice_eq_str(answer->kind, "gziplogappend"))
        o.codec = CODEC_GZIP;
    for (int i = 0; i < CODEC_COUNT; i++)
        if (slice_eq_str(answer->kind, codecs[i]))
            o.codec = i;
    if (slice_eq_str(answer->kind, "small"))
        o.batch_size_max = 1000;
    if (o.codec >= 0)
        o.level = codec_level_default((enum codec)o.codec);
    return o;
}

/* Same header (bar size and CRC, which depend on the encoder) and same records. */
static void check_same(const char *name, struct slice ours, struct slice theirs)
{
    struct records_iter a, b;
    struct record r, s;
    if (memcmp(ours.data + 21, theirs.data + 21, BATCH_HEADER_SIZE - 21) != 0)
        fail_msg("%s: another header", name);
    assert_int_equal(batch_check(ours), ERR_NONE);
    assert_int_equal(records_iter_init(&a, ours, 0), ERR_NONE);
    assert_int_equal(records_iter_init(&b, theirs, 0), ERR_NONE);
    while (records_iter_next(&b, &s)) {
        assert_true(records_iter_next(&a, &r));
        assert_int_equal(r.offset - batch_base_offset(ours.data),
                         s.offset - batch_base_offset(theirs.data));
        assert_int_equal(r.timestamp, s.timestamp);
        assert_int_equal(r.attributes, s.attributes);
        assert_true(slice_eq(r.key, s.key) && slice_eq(r.value, s.value));
        assert_true(slice_eq(r.headers, s.headers));
    }
    assert_false(records_iter_next(&a, &r));
    assert_int_equal(a.err, b.err);
    records_iter_fini(&a);
    records_iter_fini(&b);
}

static struct slice errors_text(const struct validate_result *result, struct arena *a)
{
    struct slice text = SLICE_LIT("");
    for (int32_t i = 0; i < result->record_error_count; i++) {
        const struct validate_record_error *e = &result->record_errors[i];
        text = arena_printf(a, "%.*s%s%d: %.*s", SLICE_FMT(text), i ? " | " : "", e->index,
                            SLICE_FMT(e->message));
    }
    return text;
}

static void check_answer(struct answer *answer, struct arena *a)
{
    char topic[64];
    struct validate_options options = options_of(answer, topic);
    struct validate_result result;
    struct buf rebuilt;
    buf_init(&rebuilt);
    uint8_t *bytes = mem_alloc(answer->sent.size + 1); /* exact, so that ASan sees every overrun */
    memcpy(bytes, answer->sent.data, answer->sent.size);
    enum err err = validate_batch(bytes, answer->sent.size, &options, a, &rebuilt, &result);
    for (size_t i = 0; i < sizeof stricter / sizeof *stricter; i++) {
        if (strcmp(stricter[i], answer->name) == 0) {
            assert_int_equal(answer->error, 0);
            answer->error = ERR_INVALID_RECORD;
        }
    }
    if ((int64_t)err != answer->error)
        fail_msg("%s: %s, Kafka says %d", answer->name, err_name(err), (int)answer->error);
    struct slice message = result.message.data ? result.message : SLICE_LIT("null");
    if (!slice_eq(message, answer->message))
        fail_msg("%s: %.*s", answer->name, SLICE_FMT(message));
    struct slice errors = errors_text(&result, a);
    if (!slice_eq(errors, answer->errors))
        fail_msg("%s: %.*s", answer->name, SLICE_FMT(errors));
    if (!err) {
        assert_int_equal(result.log_append_time_ms, answer->has_append_time ? options.now_ms : -1);
        assert_int_equal(result.max_timestamp, batch_max_timestamp(result.batch));
        assert_int_equal(result.record_count, batch_record_count(result.batch));
        batch_set_base_offset(result.batch, batch_base_offset(answer->stored.data));
        batch_set_leader_epoch(result.batch, 0);
        struct slice ours = slice_of(result.batch, result.size);
        check_same(answer->name, ours, answer->stored);
        if (!result.is_rebuilt || options.codec < CODEC_SNAPPY)
            assert_true(slice_eq(ours, answer->stored));
    } else {
        assert_memory_equal(bytes, answer->sent.data, answer->sent.size);
        assert_int_equal(rebuilt.size, 0);
    }
    mem_free(bytes);
    buf_fini(&rebuilt);
}

static void answers_of_kafka(void **state)
{
    (void)state;
    struct arena a;
    struct answer answer;
    int count = 0;
    arena_init(&a);
    struct slice rest = golden_read("record/produce-answers.tsv", &a);
    for (; read_answer(&rest, &a, &answer); count++)
        check_answer(&answer, &a);
    assert_true(count > 180);
    arena_fini(&a);
}

static const struct validate_options plain = {.topic = {(const uint8_t *)"t", 1},
                                              .produce_version = 12,
                                              .now_ms = GOLDEN_TS,
                                              .timestamp_before_max_ms = INT64_MAX,
                                              .timestamp_after_max_ms = 3600000,
                                              .codec = VALIDATE_CODEC_PRODUCER,
                                              .batch_size_max = 1 << 20};

/* A batch of `count` records of `size` zeros. */
static void build(struct buf *out, enum codec codec, int count, size_t size)
{
    static uint8_t zeros[1 << 20];
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.codec = codec;
    options.level = codec_level_default(codec);
    buf_init(out);
    builder_begin(&b, out, &options);
    for (int i = 0; i < count; i++)
        builder_append(&b, GOLDEN_TS + i, SLICE_NULL, slice_of(zeros, size));
    assert_int_equal(builder_end(&b), ERR_NONE);
}

/* 200 MB out of some ten KB: accepted like any batch, and refused where the topic wants it
 * uncompressed; neither takes the memory. */
static void bombs_are_walked_in_bounded_memory(void **state)
{
    (void)state;
    static const enum codec codecs[] = {CODEC_ZSTD, CODEC_GZIP};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        struct arena a;
        struct buf bytes, rebuilt;
        struct validate_result result;
        struct validate_options options = plain;
        arena_init(&a);
        buf_init(&rebuilt);
        build(&bytes, codecs[i], 200, 1 << 20);
        assert_true(bytes.size < 1 << 20);
        assert_int_equal(validate_batch(bytes.data, bytes.size, &options, &a, &rebuilt, &result),
                         ERR_NONE);
        assert_int_equal(result.record_count, 200);
        assert_int_equal(result.max_timestamp, GOLDEN_TS + 199);
        options.codec = CODEC_NONE;
        assert_int_equal(validate_batch(bytes.data, bytes.size, &options, &a, &rebuilt, &result),
                         ERR_MESSAGE_TOO_LARGE);
        assert_true(rebuilt.capacity < 2 << 20);
        assert_int_equal(rebuilt.size, 0);
        assert_int_equal(rebuilt.size_max, 0);
        buf_fini(&bytes);
        buf_fini(&rebuilt);
        arena_fini(&a);
    }
}

/* max.decompressed.message.bytes: of compressed records alone, within the decoder's pieces and
 * across them, kept as they are or compressed anew. */
static void large_records_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 300000};
    for (int i = 0; i < 2 * CODEC_COUNT; i++) {
        enum codec codec = (enum codec)(i / 2);
        struct arena a;
        struct buf bytes, rebuilt;
        struct validate_result result;
        struct validate_options options = plain;
        arena_init(&a);
        buf_init(&rebuilt);
        build(&bytes, codec, 3, sizes[i % 2]);
        /* attributes, deltas, lengths of key and value, the value, headers */
        int32_t body_size = (int32_t)sizes[i % 2] + 4 + (i % 2 ? 3 : 2) + 1;
        for (int target = VALIDATE_CODEC_PRODUCER; target < CODEC_COUNT; target++) {
            enum err refused = codec == CODEC_NONE ? ERR_NONE : ERR_INVALID_RECORD;
            options.codec = target;
            options.level = target < 0 ? 0 : codec_level_default((enum codec)target);
            options.record_size_max = body_size;
            buf_clear(&rebuilt);
            assert_int_equal(
                validate_batch(bytes.data, bytes.size, &options, &a, &rebuilt, &result), ERR_NONE);
            options.record_size_max = body_size - 1;
            buf_clear(&rebuilt);
            assert_int_equal(
                validate_batch(bytes.data, bytes.size, &options, &a, &rebuilt, &result), refused);
            assert_null(result.message.data);
        }
        buf_fini(&bytes);
        buf_fini(&rebuilt);
        arena_fini(&a);
    }
}

static void many_bad_records_are_counted_but_not_all_listed(void **state)
{
    (void)state;
    struct arena a;
    struct buf bytes, rebuilt;
    struct validate_result result;
    struct validate_options options = plain;
    arena_init(&a);
    buf_init(&rebuilt);
    build(&bytes, CODEC_LZ4, 30000, 1);
    options.compacted = true;
    assert_int_equal(validate_batch(bytes.data, bytes.size, &options, &a, &rebuilt, &result),
                     ERR_INVALID_RECORD);
    assert_int_equal(result.record_error_count, 10000);
    assert_int_equal(result.record_errors[9999].index, 9999);
    assert_non_null(memmem(result.message.data, result.message.size, "due to 30000 record", 19));
    buf_fini(&bytes);
    buf_fini(&rebuilt);
    arena_fini(&a);
}

/* Coordinators: control batches and offsets as they are; a topic's codec leaves markers alone. */
static void coordinators_may_write_control_batches(void **state)
{
    (void)state;
    struct arena a;
    struct buf rebuilt;
    struct validate_result result;
    struct validate_options options = plain;
    arena_init(&a);
    buf_init(&rebuilt);
    struct slice row = golden_row("record/java-batches.tsv", "end-txn-commit", &a);
    uint8_t *bytes = (uint8_t *)(uintptr_t)row.data;
    assert_int_equal(validate_batch(bytes, row.size, &options, &a, &rebuilt, &result),
                     ERR_INVALID_RECORD);
    options.origin = VALIDATE_COORDINATOR;
    options.codec = CODEC_ZSTD;
    assert_int_equal(validate_batch(bytes, row.size, &options, &a, &rebuilt, &result), ERR_NONE);
    assert_ptr_equal(result.batch, bytes);
    assert_true(batch_is_control(result.batch));
    buf_fini(&rebuilt);
    arena_fini(&a);
}

/* The memory of a decoder is refused: an answer, not an end. */
static void memory_is_short(void **state)
{
    (void)state;
    struct arena a;
    struct buf bytes, rebuilt;
    struct validate_result result;
    arena_init(&a);
    buf_init(&rebuilt);
    build(&bytes, CODEC_GZIP, 3, 100);
    thread_exit_run();
    mem_fail_after(0);
    assert_int_equal(validate_batch(bytes.data, bytes.size, &plain, &a, &rebuilt, &result),
                     ERR_UNKNOWN_SERVER_ERROR);
    mem_fail_after(-1);
    assert_int_equal(validate_batch(bytes.data, bytes.size, &plain, &a, &rebuilt, &result),
                     ERR_NONE);
    buf_fini(&bytes);
    buf_fini(&rebuilt);
    arena_fini(&a);
}

/* Every cut and many mutations of batches of all codecs, with the CRC made right again. */
static void broken_batches_do_no_harm(void **state)
{
    (void)state;
    struct arena a;
    uint64_t seed = 5;
    arena_init(&a);
    for (int round = 0; round < 4000; round++) {
        static const char *const names[] = {"none", "gzip", "snappy", "lz4", "zstd"};
        struct arena scratch;
        struct buf rebuilt;
        struct validate_result result;
        struct validate_options options = plain;
        arena_init(&scratch);
        buf_init(&rebuilt);
        struct slice row = golden_row("record/librdkafka-batches.tsv", names[round % 5], &scratch);
        size_t size = round % 7 ? row.size : BATCH_HEADER_SIZE + noise(&seed) % (row.size - 60);
        uint8_t *copy = mem_alloc(size);
        memcpy(copy, row.data, size);
        be_put_i32(copy + 8, (int32_t)size - BATCH_PREFIX_SIZE);
        for (int n = 0; n < round % 4 && size > BATCH_HEADER_SIZE; n++)
            copy[BATCH_HEADER_SIZE + noise(&seed) % (size - BATCH_HEADER_SIZE)] ^=
                (uint8_t)(1 << noise(&seed) % 8);
        batch_seal(copy);
        options.codec = round % 3 ? VALIDATE_CODEC_PRODUCER : (int)(noise(&seed) % CODEC_COUNT);
        options.compacted = round % 11 == 0;
        if (validate_batch(copy, size, &options, &scratch, &rebuilt, &result) == ERR_NONE) {
            /* What was let through can be read. */
            struct records_iter iter;
            struct record r;
            records_iter_init(&iter, slice_of(result.batch, result.size), 0);
            while (records_iter_next(&iter, &r))
                ;
            assert_int_equal(iter.err, ERR_NONE);
            records_iter_fini(&iter);
        }
        mem_free(copy);
        buf_fini(&rebuilt);
        arena_fini(&scratch);
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_kafka),
        cmocka_unit_test(bombs_are_walked_in_bounded_memory),
        cmocka_unit_test(large_records_are_refused),
        cmocka_unit_test(many_bad_records_are_counted_but_not_all_listed),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(coordinators_may_write_control_batches),
        cmocka_unit_test(broken_batches_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
