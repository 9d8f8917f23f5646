/* Keyed records in logs of a log folder, cleaned on the test's thread, and logs as text. */
#ifndef KLAMM_TESTS_CLEANER_FIXTURE_H
#define KLAMM_TESTS_CLEANER_FIXTURE_H

#include "dirs_fixture.h"

#include "base/arena.h"
#include "record/records.h"
#include "store/cleaner_internal.h"

/* Appends words as one batch: "a=1 b= c": keys with values; "b=" has an empty value, "c" none. */
static inline int64_t keyed_as(struct log *log, struct builder_options options, const char *records,
                               int64_t time)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    builder_begin(&b, &batch, &options);
    struct slice rest = slice_str(records);
    for (int count = 0; rest.size; count++) {
        const uint8_t *blank = memchr(rest.data, ' ', rest.size);
        size_t size = blank ? (size_t)(blank - rest.data) : rest.size;
        struct slice word = slice_of(rest.data, size), key = word, value = SLICE_NULL;
        rest = slice_of(rest.data + size + (blank != NULL), rest.size - size - (blank != NULL));
        const uint8_t *is = memchr(word.data, '=', word.size);
        if (is) {
            key = slice_of(word.data, (size_t)(is - word.data));
            value = slice_of(is + 1, word.size - key.size - 1);
        }
        builder_append(&b, time + count, key, value);
    }
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct log_appended appended;
    assert_int_equal(log_append(log, LOG_COORDINATOR, 0, buf_slice(&batch), &appended), ERR_NONE);
    log_set_high_watermark(log, log_end(log));
    /* As if it were flushed and the checkpoint written: only below that anything is cleaned. */
    log->recovery_point = log->recovery_saved = log->recovery_noted = log_end(log);
    log->decided_end = log_end(log);
    buf_fini(&batch);
    return appended.offset_first;
}

static inline int64_t keyed(struct log *log, const char *records, int64_t time)
{
    return keyed_as(log, BUILDER_DEFAULTS, records, time);
}

enum { KEYED_PRODUCER_ID = 7 };

/* The first batch of the producer in its transaction. */
static inline void keyed_txn(struct log *log, const char *records, int64_t time)
{
    struct builder_options txn = BUILDER_DEFAULTS;
    txn.producer_id = KEYED_PRODUCER_ID;
    txn.producer_epoch = 0;
    txn.base_sequence = 0;
    txn.transactional = true;
    keyed_as(log, txn, records, time);
}

/* The marker that ends it, not flushed. */
static inline void end_txn(struct log *log, bool commit)
{
    struct control_end_txn marker = {.is_commit = commit};
    struct buf batch;
    buf_init(&batch);
    control_build_end_txn(&batch, 0, 0, 1000, KEYED_PRODUCER_ID, 0, &marker);
    struct log_appended appended;
    assert_int_equal(log_append(log, LOG_COORDINATOR, 0, buf_slice(&batch), &appended), ERR_NONE);
    log_set_high_watermark(log, log_end(log));
    buf_fini(&batch);
}

/* The marker that aborts it. */
static inline void abort_txn(struct log *log)
{
    end_txn(log, false);
    log->decided_end = log_end(log);
}

/* "0:a=1 2:c" for the records of the log, "[5]" for a batch without any, "!" after a batch with a
 * delete horizon, "|" where a segment begins. From mem_alloc. */
static inline char *log_text(struct log *log)
{
    struct buf text, bytes;
    buf_init(&text);
    buf_init(&bytes);
    for (int64_t offset = log_start(log); offset < log_end(log);) {
        int64_t next;
        buf_clear(&bytes);
        assert_int_equal(log_read_copy(log, offset, 1 << 20, INT64_MAX, &bytes, &next), ERR_NONE);
        struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
        struct batch_info info;
        while (batch_iter_next(&iter, &info)) {
            assert_int_equal(batch_check(slice_of(info.data, info.size)), ERR_NONE);
            for (uint32_t i = 1; i < log->segment_count; i++)
                if (info.offset_base >= log->segments[i]->base && offset <= log->segments[i]->base)
                    buf_put_str(&text, text.size ? " |" : "|");
            offset = info.offset_last + 1;
            struct records_iter records;
            struct record record;
            assert_int_equal(records_iter_init(&records, slice_of(info.data, info.size), 0), 0);
            if (!batch_record_count(info.data))
                buf_printf(&text, " [%lld]", (long long)info.offset_last);
            while (records_iter_next(&records, &record)) {
                buf_printf(&text, "%s%lld:", text.size ? " " : "", (long long)record.offset);
                if (batch_is_control(info.data)) {
                    buf_put_str(&text, "marker");
                    continue;
                }
                buf_put_slice(&text, record.key);
                if (record.value.data)
                    buf_printf(&text, "=%.*s", SLICE_FMT(record.value));
            }
            assert_int_equal(records.err, ERR_NONE);
            records_iter_fini(&records);
            if (batch_has_delete_horizon(info.data))
                buf_put_str(&text, "!");
        }
        offset = next > offset ? next : offset;
        if (!bytes.size)
            break;
    }
    char *copy = slice_to_cstr(buf_slice(&text));
    buf_fini(&text);
    buf_fini(&bytes);
    return copy;
}

#define assert_log(log, expected)           \
    do {                                    \
        char *got = log_text(log);          \
        assert_string_equal(got, expected); \
        mem_free(got);                      \
    } while (0)

/* Logs will be compacted, everything dirty is worth a round. The folders are not open yet. */
static inline void cleaner_prepare(struct dirs_fixture *x, struct store_fixture *f, int folders)
{
    dirs_begin(x, f, folders);
    f->options.config.cleanup_compact = true;
    f->options.config.cleanup_delete = false;
    f->options.config.dirty_ratio_min = 0;
    f->options.config.delete_retention_ms = 1000;
    f->options.config.index_interval = 50;
}

/* The same, folders open. */
static inline void cleaner_begin(struct dirs_fixture *x, struct store_fixture *f, int folders)
{
    cleaner_prepare(x, f, folders);
    dirs_open(x);
}

static inline int clean(struct dirs_fixture *x, int64_t now_ms)
{
    return cleaner_run_now(x->dirs->cleaner, now_ms);
}

#endif
