/* Protocols and assignment of one member. */
#include "group_trace.h"

#include "coord/group.h"

static void test_protocols(void **state)
{
    (void)state;
    struct member member = {0};
    struct member_protocol items[20];
    for (int i = 0; i < 20; i++)
        items[i] = (struct member_protocol){SLICE_LIT("same"), SLICE_LIT("later")};
    items[0].metadata = SLICE_LIT("first");
    items[19].name = SLICE_LIT("other");
    for (int32_t count = 2; count <= 20; count += 18) { /* few and many are told apart otherwise */
        struct group_offer offer = {SLICE_LIT("consumer"), items + (count == 2 ? 18 : 0), count};
        member_set_protocols(&member, &offer);
        assert_int_equal(member.protocol_count, 2);
        assert_slice_eq(member.protocols[0].name, "same");
        assert_slice_eq(member.protocols[1].name, "other");
        assert_true(member_matches(&member, &offer));
    }
    assert_slice_eq(member_metadata(&member, SLICE_LIT("same")), "first");
    assert_slice_eq(member_metadata(&member, SLICE_LIT("other")), "later");
    assert_true(slice_is_null(member_metadata(&member, SLICE_LIT("none"))));
    mem_free(member.protocols);
}

static void test_matches(void **state)
{
    (void)state;
    struct member member = {0};
    struct member_protocol items[] = {{SLICE_LIT("a"), SLICE_LIT("1")},
                                      {SLICE_LIT("b"), SLICE_LIT("")}};
    struct group_offer offer = {SLICE_LIT("consumer"), items, 2};
    member_set_protocols(&member, &offer);
    assert_true(member_matches(&member, &offer));
    struct member_protocol swapped[] = {items[1], items[0]};
    struct group_offer other = {SLICE_LIT("consumer"), swapped, 2};
    assert_false(member_matches(&member, &other)); /* the order is the preference */
    offer.count = 1;
    assert_false(member_matches(&member, &offer));
    offer.count = 2;
    items[1].metadata = SLICE_LIT("2");
    assert_false(member_matches(&member, &offer));
    /* Its own protocols may be offered again. */
    struct group_offer own = {SLICE_NULL, member.protocols, member.protocol_count};
    member_set_protocols(&member, &own);
    assert_slice_eq(member.protocols[0].name, "a");
    mem_free(member.protocols);
}

static void test_assignment(void **state)
{
    (void)state;
    struct member member = {0};
    member_set_assignment(&member, SLICE_LIT("x"));
    assert_slice_eq(member.assignment, "x");
    member_set_assignment(&member, SLICE_NULL);
    assert_false(slice_is_null(member.assignment));
    assert_int_equal(member.assignment.size, 0);
    slice_free(&member.assignment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_assignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
