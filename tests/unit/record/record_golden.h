/* Rows of the tables in tests/golden/record, and the five records that most of them hold. */
#ifndef KLAMM_TESTS_RECORD_GOLDEN_H
#define KLAMM_TESTS_RECORD_GOLDEN_H

#include "record/builder.h"
#include "record/records.h"

#include "../unit.h"
#include "../wire/golden_file.h"

#define GOLDEN_TS INT64_C(1700000000000)

/* The bytes of a two-column row (name, hex). */
static inline struct slice golden_row(const char *file, const char *name, struct arena *a)
{
    struct slice rest = golden_read(file, a);
    assert_non_null(rest.data);
    for (struct slice line = golden_cut(&rest, '\n'); line.data; line = golden_cut(&rest, '\n')) {
        if (slice_eq_str(golden_cut(&line, '\t'), name))
            return golden_unhex(line, a);
    }
    fail_msg("no row %s in %s", name, file);
    return SLICE_NULL;
}

static inline struct slice golden_key(int i)
{
    static const char *const keys[] = {"key0", "key1", NULL, "key3", "key4"};
    return slice_str(keys[i]);
}

static inline struct slice golden_value(int i, char text[128])
{
    if (i == 3)
        return SLICE_NULL;
    size_t size = 0;
    for (int n = 0; n < 12; n++)
        size += (size_t)snprintf(text + size, 128 - size, "value %d ", i);
    return slice_of(text, size);
}

static const struct record_header golden_headers[] = {
    {{(const uint8_t *)"h1", 2}, {(const uint8_t *)"x", 1}},
    {{(const uint8_t *)"h2", 2}, {NULL, 0}}};

static inline void golden_check(const struct record *r, int i, bool has_headers)
{
    char text[128];
    assert_true(slice_eq(r->key, golden_key(i)));
    assert_true(slice_eq(r->value, golden_value(i, text)));
    struct slice rest = r->headers;
    struct record_header header;
    int count = 0;
    for (; record_header_next(&rest, &header); count++) {
        assert_true(slice_eq(header.key, golden_headers[count].key));
        assert_true(slice_eq(header.value, golden_headers[count].value));
    }
    assert_int_equal(count, has_headers && i == 1 ? 2 : 0);
    assert_int_equal(count, r->header_count);
}

static inline void golden_append(struct builder *b)
{
    for (int i = 0; i < 5; i++) {
        char text[128];
        builder_append_full(b, i, GOLDEN_TS + i * 10, golden_key(i), golden_value(i, text),
                            golden_headers, i == 1 ? 2 : 0);
    }
}

/* Small, repeatable noise. */
static inline uint32_t noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

#endif
