#include "../unit.h"

#include "meta/topic_name.h"

static void legal_and_illegal_names(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice text = SLICE_NULL;
    assert_int_equal(topic_name_check(SLICE_LIT("a.B_9-"), &arena, &text), ERR_NONE);
    uint8_t longest[TOPIC_NAME_SIZE_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(topic_name_check(slice_of(longest, TOPIC_NAME_SIZE_MAX), &arena, &text),
                     ERR_NONE);
    assert_true(slice_is_null(text));
    assert_int_equal(topic_name_check(slice_of(longest, sizeof longest), &arena, &text),
                     ERR_INVALID_TOPIC_EXCEPTION);
    static const struct {
        const char *name, *text;
    } bad[] = {
        {"", "Topic name is invalid: the empty string is not allowed"},
        {".", "Topic name is invalid: '.' is not allowed"},
        {"..", "Topic name is invalid: '..' is not allowed"},
        {"a/b", "Topic name is invalid: 'a/b' contains one or more characters other than ASCII "
                "alphanumerics, '.', '_' and '-'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(topic_name_check(slice_str(bad[i].name), &arena, &text),
                         ERR_INVALID_TOPIC_EXCEPTION);
        assert_slice_eq(text, bad[i].text);
    }
    arena_fini(&arena);
}

static void dots_and_underscores_collide(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    assert_slice_eq(topic_name_unified(SLICE_LIT("a.b_c-d"), &arena), "a_b_c-d");
    assert_slice_eq(topic_name_unified(SLICE_LIT(""), &arena), "");
    arena_fini(&arena);
    assert_true(topic_name_has_collision_chars(SLICE_LIT("a_")));
    assert_true(topic_name_has_collision_chars(SLICE_LIT(".a")));
    assert_false(topic_name_has_collision_chars(SLICE_LIT("a-b")));
}

static void internal_names(void **state)
{
    (void)state;
    assert_true(topic_name_is_internal(SLICE_LIT("__consumer_offsets")));
    assert_false(topic_name_is_internal(SLICE_LIT("__consumer_offset")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_and_illegal_names),
        cmocka_unit_test(dots_and_underscores_collide),
        cmocka_unit_test(internal_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
