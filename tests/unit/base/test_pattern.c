/* Regular expressions: what matches, what is none, and that no pattern takes for ever. */
#include "../unit.h"

#include "base/pattern.h"

/* `yes` and `no` are texts separated by commas; "" stands for itself when the list is empty. */
static void check_list(struct pattern *pattern, const char *text, const char *list, bool wanted)
{
    for (const char *at = list;; at++) {
        const char *comma = strchr(at, ',');
        struct slice item = slice_of(at, comma ? (size_t)(comma - at) : strlen(at));
        if (pattern_matches(pattern, item) != wanted)
            fail_msg("/%s/ on '%.*s'", text, SLICE_FMT(item));
        if (!comma)
            return;
        at = comma;
    }
}

static void check(const char *text, const char *yes, const char *no)
{
    struct pattern *pattern;
    if (pattern_new(slice_str(text), &pattern))
        fail_msg("/%s/ is none", text);
    if (yes)
        check_list(pattern, text, yes, true);
    if (no)
        check_list(pattern, text, no, false);
    pattern_free(pattern);
}

static void test_matches(void **state)
{
    (void)state;
    check("", "", "a");
    check("abc", "abc", "ab,abcd,xabc,");
    check("a|b", "a,b", "ab,");
    check("a|", "a,", "b");
    check("|a|bc|", "a,bc,", "ab");
    check("a*", "a,aaaa,", "b,ab");
    check("a+b?", "a,ab,aaab", ",b,abb");
    check("a*?b+?c??", "b,ab,aabbc", "c");
    check("(ab)+", "ab,abab", "aba,");
    check("(a|b)*c", "c,abbac", "ab");
    check("(?:a|(b))(?P<n>c)(?P<m2_>d)?", "ac,bcd", "c,ad");
    check("a{2}", "aa", "a,aaa,");
    check("a{2,}", "aa,aaaaa", "a,");
    check("a{0}b", "b", "ab");
    check("a{0,2}b", "b,ab,aab", "aaab");
    check("a{1,3}?", "a,aa,aaa", ",aaaa");
    check("(ab|c){2,3}", "abab,cabc,cc", "ab,cccc");
    check("a{,2}|a{|a{x}|{", "a{,a{x},{", "a,aa");
    check("a{01}|a{1,02}", "a{01}", "a,aa");
    struct pattern *braces; /* a comma in the text itself */
    assert_int_equal(pattern_new(slice_str("a{,2}"), &braces), ERR_NONE);
    assert_true(pattern_matches(braces, slice_str("a{,2}")));
    pattern_free(braces);
    check("(a*)*", ",aaa", "b");
    check("(a|b|)*", ",abba", "c");
    check("(|a)+", ",aaa", "b");
    check("((a{0,2}){0,2}){2}", ",aaaaaaaa", "aaaaaaaaa");
    check("x.y", "x.y,xay", "xy,x\ny");
    check("(?s)x.y", "x\ny", "xy");
    check("x(?s:.)y.", "x\nyz", "x\ny\n");
}

static void test_classes(void **state)
{
    (void)state;
    check("[abc]", "a,b,c", "d,ab,");
    check("[a-cx-z_]+", "abcxyz_", "d");
    check("[^a-c]", "d,-", "a,b,c,");
    check("[]a]+", "]a", "b");
    check("[^]a]", "b", "],a");
    check("[a-]+", "a-", "b");
    check("[-a]+", "a-", "b");
    check("[a\\-c]+", "a-c", "b");
    check("[\\]\\\\]+", "]\\", "a");
    check("[+-.]", "+,-,.", "*");
    check("\\d+", "0123456789", "a");
    check("\\D", "a", "1");
    check("\\w+", "aZ_9", "-");
    check("\\W", "-", "a");
    check("\\s+", " \t\n\f\r", "\v");
    check("\\S", "a", " ");
    check("[\\d\\s]+", "1 2", "a");
    check("[^\\d]", "a", "1");
    check("[\\Wa]+", "-a", "b");
    check("[[:alpha:]]+", "aZ", "1");
    check("[[:^alpha:]1]", "1,-", "a");
    check("[x[:digit:]-]+", "x1-", "y");
    check("[[:alnum:][:punct:]]+", "aZ9!~:[`{", " ");
    check("[[:space:]]+", " \t\n\v\f\r", "a");
    check("[[:word:]]+", "a_9", "-");
    check("[[:xdigit:]]+", "09afAF", "g");
    check("[[:cntrl:]]", "\x01,\x7f", " ");
    check("[[:ascii:]]+", "a~\x01", "\xc3\xa4");
    check("[^\\x00-\\x{10FFFF}]|a", "a", "b,");
    check("(?i)aB[c-d]", "ABD,abc,aBD", "abe");
    check("(?i)[^k]", "a", "k,K");
    check("a(?i)b(?-i)c", "aBc,abc", "Abc,abC");
    check("a(?i:b)c", "aBc", "aBC");
    check("(?i)(b|(?-i)c)d", "BD,cd,cD", "Cd");
    check("(?imsU)a", "A", "b");
}

static void test_places(void **state)
{
    (void)state;
    check("^abc$", "abc", "ab");
    check("\\Aabc\\z", "abc", "ab");
    check("a^b|c$d|^*e", "e", "ab,cd");
    check("(?m)a$\\n^b", "a\nb", "ab");
    check("a$\\n^b", NULL, "a\nb");
    check("\\bab\\b-\\bc", "ab-c", NULL);
    check("a\\bb", NULL, "ab");
    check("a\\Bb", "ab", NULL);
    check("(^|x)y", "y,xy", "zy");
}

static void test_escapes(void **state)
{
    (void)state;
    check("\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\\\_\\-\\/", ".*+?()[]{}|^$\\_-/", "a");
    check("\\a\\f\\n\\r\\t\\v", "\a\f\n\r\t\v", NULL);
    check("\\x41\\x{42}\\103\\0061",
          "ABC\x06"
          "1",
          NULL);
    check("\\Qa.b*\\E+c", "a.b*c,a.b**c", "axb*c");
    check("\\Qa|(\\E|b", "a|(,b", "a");
    check("x\\Q[", "x[", "x");
    check("[\\x61-\\x63\\n]+", "abc\n", "d");
}

static void test_utf8(void **state)
{
    (void)state;
    check(".", "\xc3\xa4,\xe2\x82\xac,\xf0\x9f\x98\x80", "\xc3\xa4\xc3\xa4");
    check("\xc3\xa4{2}", "\xc3\xa4\xc3\xa4", "\xc3\xa4\xa4");
    check("[\xc3\xa0-\xc3\xb6]", "\xc3\xa4", "a");
    check("\\x{e4}", "\xc3\xa4", "\xe4");
    check("(?i)\xc3\xa4", "\xc3\x84", "a");
    check("\\p{Greek}+", "\xce\xb1\xce\xb2", "a");
    check("a", "a", "\xff,\xed\xa0\x80");
    check("a\xff", "a\xef\xbf\xbd", "a,a\xc3\xa4"); /* what is malformed reads as U+FFFD */
    check("\xc3\xa4\xe2\x82", "\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd", "\xc3\xa4");
}

static void test_none(void **state)
{
    (void)state;
    static const char *const none[] = {
        "[",
        "[a",
        "[]",
        "[^]",
        "(",
        ")",
        "a)",
        "(a",
        "a**",
        "a+*",
        "a?{2}",
        "a{2}{3}",
        "a*?*",
        "*",
        "+a",
        "?",
        "{2}",
        "a|*",
        "(*)",
        "(?i)*",
        "a{2,1}",
        "a{1001}",
        "a{1,1001}",
        "[b-a]",
        "[\\d-\\q]",
        "\\q",
        "\\",
        "\\1",
        "\\8",
        "\\x",
        "\\x4",
        "\\x{",
        "\\x{}",
        "\\x{110000}",
        "\\x{41",
        "\\Z",
        "[[:nope:]]",
        "[[:alpha:",
        "(?",
        "(?i",
        "(?x)",
        "(?i-)",
        "(?--i)",
        "(?P<n",
        "(?P<>a)",
        "(?P<a-b>c)",
        "(?P<n>a)(?<n>b)",
        "(?P=n)",
        "(?<=a)",
        "(?!a)",
        "(?=a)",
        "(?P<n>a)|(?P<n>b)",
        "(?P<n>a)|b(?<n>c)",
        "(?<>a)",
        "(?<n",
        "(?<n-1>a)",
        "(?<\xc3\xa4>a)",
        "(?P<\xc3\xa4>a)",
        "(?<!a)",
        "(?'n'a)",
        "a{?",
        "{*",
        "(x{+)",
        "{{2}",
        "a{2}{{2,}",
        "\\C",
        "a|(?:\\C)*",
        "\\\\\\C",
        "[\\C]",
        "[a\\]]\\C",
        "[]a]\\C",
        "[^]]\\C",
        "[[:alpha:]]\\C",
        "[[:]\\C",
        "[[:]",
        "[[:]]",
        "[[::]]",
        "\\Qa\\E\\C",
        "\\Q\\\\E\\E\\C",
    };
    struct pattern *pattern;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (pattern_new(slice_str(none[i]), &pattern) != ERR_INVALID_REGULAR_EXPRESSION)
            fail_msg("/%s/ is taken", none[i]);
    }
}

/* Where RE2 by itself is another language than the RE2/J of Kafka; asked of 4.4.0 by
 * ListTransactions. */
static void test_re2j(void **state)
{
    (void)state;
    check("(?<n>a)(?<m_2>b)?", "a,ab", "b");
    check("(?<1>a)|(?P<2>b)", "a,b", "ab");
    check("(?P<n>(?<m>a)){2}", "aa", "a");
    check("(?P<n>a)(?P<N>b)", "ab", "a");
    check("\\\\(?<n>a)", "\\a", "a"); /* the backslash is escaped, the group is one */
    check("\\Q(?<n>\\E|[(?<n>]", "(?<n>,(,<,n", "a");
    check("\\Q\\C\\E|\\QC", "\\C,C", "a");
    check("\\\\C", "\\C", "a");
    check("\\\xc3\xa4{2}", "\xc3\xa4\xc3\xa4", "\xc3\xa4");
    check("[\\\xc3\xa0-\\\xc3\xb6]", "\xc3\xa4", "a,\\");
    check("\\\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "a");
    check("\\\xff", "\xef\xbf\xbd", "a"); /* malformed, then escaped */
    check("{{|{a?|{01}?|{1?|[{]?|\\{?|{{01}", "{{,{a,{,{01},{{01}", "a");
    check("a{2}?(b{1,}){0}|\\Q{\\E{2}", "aa,{{", "{,b");
    check("\\pN\\PN\\p{Greek}\\p{^Greek}", "1a\xce\xb1x", "aa");
    check("[\\pL1]+", "aB1", "2");
}

/* What other engines need for ever for. */
static void test_bounded(void **state)
{
    (void)state;
    struct pattern *pattern;
    struct slice none[] = {SLICE_LIT("((a{100}){100}){100}"),
                           SLICE_LIT("((((){1000}){1000}){1000}){1000}"),
                           SLICE_LIT("(((|a){1000}){1000}){1000}")};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(pattern_new(none[i], &pattern), ERR_INVALID_REGULAR_EXPRESSION);
    char text[32768];
    memset(text, '(', sizeof text);
    assert_int_equal(pattern_new(slice_of(text, 32767), &pattern), ERR_INVALID_REGULAR_EXPRESSION);
    assert_int_equal(pattern_new(SLICE_LIT("(a|aa|a?a*)+b"), &pattern), ERR_NONE);
    memset(text, 'a', sizeof text);
    assert_false(pattern_matches(pattern, slice_of(text, sizeof text)));
    text[sizeof text - 1] = 'b';
    assert_true(pattern_matches(pattern, slice_of(text, sizeof text)));
    pattern_free(pattern);
    assert_int_equal(pattern_new(SLICE_LIT("(x+x+)+y{1000}"), &pattern), ERR_NONE);
    memset(text, 'x', sizeof text);
    assert_false(pattern_matches(pattern, slice_of(text, sizeof text)));
    pattern_free(pattern);
    pattern_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_places),  cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_utf8),    cmocka_unit_test(test_none),
        cmocka_unit_test(test_re2j),    cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
