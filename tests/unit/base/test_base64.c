#include "base/base64.h"

#include "../unit.h"

/* RFC 4648, section 10 */
static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void vectors_both_ways(void **state)
{
    (void)state;
    struct arena a;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct slice bytes;
        buf_clear(&out);
        base64_put(&out, slice_str(vectors[i][0]));
        assert_slice_eq(buf_slice(&out), vectors[i][1]);
        assert_true(base64_parse(slice_str(vectors[i][1]), &a, &bytes));
        assert_slice_eq(bytes, vectors[i][0]);
        assert_non_null(bytes.data);
    }
    buf_clear(&out);
    base64_put(&out, SLICE_LIT("\xfb\xff\xfe\x00"));
    assert_slice_eq(buf_slice(&out), "+//+AA==");
    base64_put(&out, SLICE_NULL);
    assert_int_equal(out.size, 8);
    buf_fini(&out);
    arena_fini(&a);
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm-v", "Zm9v\n\n", "Z\xc3\xa9v"};
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct slice bytes = SLICE_NULL;
        assert_false(base64_parse(slice_str(texts[i]), &a, &bytes));
        assert_null(bytes.data);
    }
    arena_fini(&a);
}

/* What Java's basic decoder accepts and refuses. */
static void loose_texts(void **state)
{
    (void)state;
    static const char *const good[][2] = {{"Zg", "f"},          {"Zm8", "fo"},  {"Zm9vYg", "foob"},
                                          {"Zh==", "f"},        {"Zm9=", "fo"}, {"Zm9v", "foo"},
                                          {"Zm9vYg==", "foob"}, {"", ""}};
    static const char *const bad[] = {
        "Z", "Zg=", "Zm9==", "Zm9v=", "Z===", "====", "Zm9vY", "Zm-v", "Zg==Zg", "Zm 9"};
    struct arena a;
    struct slice bytes;
    arena_init(&a);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(base64_parse_loose(slice_str(good[i][0]), &a, &bytes));
        assert_slice_eq(bytes, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(base64_parse_loose(slice_str(bad[i]), &a, &bytes));
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_both_ways),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(loose_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
