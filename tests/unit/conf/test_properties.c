/* The format of java.util.Properties, corner by corner (results of Properties.load of OpenJDK 17).
 */
#include "fixture.h"

static struct properties p;

static enum err parse(const char *text, int *line)
{
    properties_fini(&p);
    properties_init(&p);
    return properties_parse(&p, slice_str(text), line);
}

static void check(const char *text, const char *key, const char *value)
{
    int line = 0;
    assert_int_equal(parse(text, &line), ERR_NONE);
    struct slice found = properties_get(&p, slice_str(key));
    if (!value) {
        assert_true(slice_is_null(found));
        return;
    }
    assert_non_null(found.data);
    assert_slice_eq(found, value);
}

static void test_separators(void **state)
{
    (void)state;
    check("a=b", "a", "b");
    check("a:b", "a", "b");
    check("a b", "a", "b");
    check("a\t=\f b ", "a", "b ");
    check("a = = b", "a", "= b");
    check("a", "a", "");
    check("=b", "", "b");
    check("a\\ b=c", "a b", "c");
    check("a\\=b\\:c=d", "a=b:c", "d");
    check("  a=b\r\nc=d\re=f\n", "c", "d");
    assert_int_equal(properties_count(&p), 3);
}

static void test_comments(void **state)
{
    (void)state;
    check("# x=1\n  ! y=2\\\nz=3", "z", "3");
    assert_int_equal(properties_count(&p), 1);
    check("a=b # no comment", "a", "b # no comment");
    check("\n \n\t\n", "a", NULL);
    assert_int_equal(properties_count(&p), 0);
}

static void test_continuation(void **state)
{
    (void)state;
    check("a=b\\\n   c\\\r\n\td", "a", "bcd");
    check("a=b\\\\\nc=d", "a", "b\\");
    check("a=b\\\n# c\nd=e", "a", "b# c");
    check("a\\\n  b=c", "ab", "c");
    check("a=\\\n  b", "a", "b");
    check("a=b\\", "a", "b");
}

static void test_escapes(void **state)
{
    (void)state;
    check("a=\\t\\n\\r\\f\\q\\\\", "a", "\t\n\r\fq\\");
    check("a=\\u0041\\u00e9\\u20AC", "a", "A\xc3\xa9\xe2\x82\xac");
    check("a=\\ud83d\\ude00", "a", "\xf0\x9f\x98\x80");
    check("a=\\ud83dx", "a", "?x");
    check("a=\xc3\xa9", "a", "\xc3\xa9");
    int line = 0;
    assert_int_equal(parse("a=1\nb=\\u12", &line), ERR_MALFORMED);
    assert_int_equal(line, 2);
    assert_int_equal(parse("a\\uzzzz=1", &line), ERR_MALFORMED);
}

static void test_last_wins_in_first_place(void **state)
{
    (void)state;
    check("a=1\nb=2\na=3", "a", "3");
    assert_slice_eq(properties_at(&p, 0)->key, "a");
    assert_int_equal(properties_at(&p, 0)->line, 3);
}

static void test_too_large(void **state)
{
    (void)state;
    size_t size = PROPERTIES_SIZE_MAX + 1;
    char *text = mem_alloc(size);
    memset(text, 'a', size);
    int line;
    assert_int_equal(properties_parse(&p, slice_of(text, size), &line), ERR_TOO_LARGE);
    mem_free(text);
}

static void test_written_text_reads_back(void **state)
{
    (void)state;
    properties_fini(&p);
    properties_init(&p);
    properties_set(&p, SLICE_LIT("a b=c:#"), SLICE_LIT("  x \\ y\n\t=#"));
    properties_set(&p, SLICE_LIT("listeners"), SLICE_LIT("PLAINTEXT://[::1]:9092"));
    struct buf b;
    buf_init(&b);
    properties_write(&p, &b);
    assert_slice_eq(buf_slice(&b), "a\\ b\\=c\\:\\#=\\ \\ x \\\\ y\\n\\t=#\n"
                                   "listeners=PLAINTEXT://[::1]:9092\n");
    struct properties q;
    properties_init(&q);
    int line;
    assert_int_equal(properties_parse(&q, buf_slice(&b), &line), ERR_NONE);
    assert_slice_eq(properties_get(&q, SLICE_LIT("a b=c:#")), "  x \\ y\n\t=#");
    properties_fini(&q);
    buf_fini(&b);
}

int main(void)
{
    properties_init(&p);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_continuation),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_last_wins_in_first_place),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_written_text_reads_back),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    properties_fini(&p);
    return failed;
}
