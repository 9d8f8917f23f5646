/* Questions asked of a group: leader, protocols, subscriptions. */
#include "group_trace.h"

#include "coord/group.h"

static struct coord_shard *idle_shard(void)
{
    struct coord_config config;
    coord_config_init(&config);
    struct coord_writer writer = {NULL, trace_append};
    return coord_shard_new(COORD_GROUPS, &config, &writer, 0);
}

static struct member *add(struct coord_shard *shard, struct group *group, const char *id,
                          const char *instance, const char *first, const char *second,
                          struct slice metadata)
{
    struct member *member = member_new(group, slice_str(id), text_or_null(instance));
    struct member_protocol items[] = {{slice_str(first), metadata},
                                      {text_or_null(second), metadata}};
    struct group_offer offer = {SLICE_LIT("consumer"), items, second ? 2 : 1};
    member_set_protocols(member, &offer);
    group_add_member(shard, group, member, offer.type);
    return member;
}

static void test_leader_goes_on(void **state)
{
    (void)state;
    struct coord_shard *shard = idle_shard();
    struct group *group = group_new(SLICE_LIT("g"), GROUP_CLASSIC);
    struct member *a = add(shard, group, "a", "one", "range", NULL, SLICE_LIT(""));
    struct member *b = add(shard, group, "b", NULL, "range", NULL, SLICE_LIT(""));
    assert_true(group_is_leader(group, SLICE_LIT("a")));
    assert_int_equal(group_check_member(group, SLICE_LIT("a"), SLICE_LIT("one")), ERR_NONE);
    assert_int_equal(group_check_member(group, SLICE_LIT("b"), SLICE_LIT("one")),
                     ERR_FENCED_INSTANCE_ID);
    assert_int_equal(group_check_member(group, SLICE_LIT("b"), SLICE_LIT("two")),
                     ERR_UNKNOWN_MEMBER_ID);
    assert_int_equal(group_check_member(group, SLICE_LIT("c"), SLICE_NULL), ERR_UNKNOWN_MEMBER_ID);
    group_rename_member(group, a, SLICE_LIT("a2"));
    assert_true(group_is_leader(group, SLICE_LIT("a2")));
    assert_null(group_member(group, SLICE_LIT("a")));
    group_remove_member(shard, group, a);
    assert_true(group_is_leader(group, SLICE_LIT("b")));
    group_remove_member(shard, group, b);
    assert_true(slice_is_null(group->leader));
    group_unref(group);
    coord_shard_free(shard);
}

static void test_select_protocol(void **state)
{
    (void)state;
    struct coord_shard *shard = idle_shard();
    struct group *group = group_new(SLICE_LIT("g"), GROUP_CLASSIC);
    add(shard, group, "a", NULL, "x", "y", SLICE_LIT(""));
    assert_slice_eq(group_select_protocol(group), "x");
    add(shard, group, "b", NULL, "y", "x", SLICE_LIT(""));
    add(shard, group, "c", NULL, "y", "x", SLICE_LIT(""));
    assert_slice_eq(group_select_protocol(group), "y"); /* two votes of three */
    struct member *d = add(shard, group, "d", NULL, "x", NULL, SLICE_LIT(""));
    assert_slice_eq(group_select_protocol(group), "x"); /* the only one that all support */
    group->state = GROUP_STABLE;
    struct member_protocol item = {SLICE_LIT("y"), SLICE_LIT("")};
    struct group_offer offer = {SLICE_LIT("consumer"), &item, 1};
    assert_false(group_supports(group, &offer));
    group_remove_member(shard, group, d);
    assert_true(group_supports(group, &offer));
    offer.type = SLICE_LIT("connect");
    assert_false(group_supports(group, &offer));
    group_clear(shard, group);
    group_unref(group);
    coord_shard_free(shard);
}

static void test_subscription(void **state)
{
    (void)state;
    static const char good[] = "\0\3\0\0\0\2\0\1t\0\1u\xff\xff\xff\xff more of later versions";
    static const struct {
        struct slice metadata;
        bool known;
    } cases[] = {{{(const uint8_t *)good, sizeof good - 1}, true},
                 {{(const uint8_t *)good, 9}, false},
                 {{(const uint8_t *)"\0\0\0\0\0\0\xff\xff\xff\xff", 10}, true},
                 {{(const uint8_t *)"\0\0\x7f\xff\xff\xff\0\0\0\0", 10}, false},
                 {{(const uint8_t *)"\0", 1}, false},
                 {{(const uint8_t *)"", 0}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coord_shard *shard = idle_shard();
        struct group *group = group_new(SLICE_LIT("g"), GROUP_CLASSIC);
        add(shard, group, "a", NULL, "range", NULL, cases[i].metadata);
        struct map topics;
        map_init(&topics);
        assert_false(group_subscription(group, &topics)); /* no protocol chosen yet */
        group_set_text(&group->protocol_name, SLICE_LIT("range"));
        assert_int_equal(group_subscription(group, &topics), cases[i].known);
        if (i == 0) {
            assert_non_null(map_get(&topics, SLICE_LIT("u")));
            assert_int_equal(map_count(&topics), 2);
        }
        map_fini(&topics);
        group_clear(shard, group);
        group_unref(group);
        coord_shard_free(shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leader_goes_on),
        cmocka_unit_test(test_select_protocol),
        cmocka_unit_test(test_subscription),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
