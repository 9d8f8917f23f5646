#include "../meta/meta_kit.h"

#include "api/offset_topics.h"

static struct meta_image *two_partitions(struct kit *kit)
{
    kit_topic(kit, "t", 5);
    kit_partition(kit, 5, 0);
    kit_partition(kit, 5, 1);
    return kit_image(kit, meta_image_empty());
}

/* What exists is asked of the shard, the rest is answered at once; the shard's answers find their
 * places whatever lies between. */
static void places(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = two_partitions(&kit);
    struct offset_topics topics = offset_topics_of(image, false, 5, &kit.arena);
    const struct meta_topic *t = offset_topics_find(&topics, SLICE_LIT("t"), NULL);
    assert_non_null(t);
    assert_null(offset_topics_find(&topics, SLICE_LIT("u"), NULL));
    int16_t codes[5] = {99, 99, 99, 99, 99};
    assert_true(offset_topics_keep(&topics, t, 1, &codes[0]));
    assert_false(offset_topics_keep(&topics, t, 2, &codes[1]));
    assert_false(offset_topics_keep(&topics, NULL, 0, &codes[2]));
    assert_false(offset_topics_keep(&topics, t, -1, &codes[3]));
    assert_true(offset_topics_keep(&topics, t, 0, &codes[4]));
    assert_int_equal(topics.count, 2);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(codes[i], ERR_UNKNOWN_TOPIC_OR_PARTITION);
    offset_topics_answer(&topics, 7);
    assert_int_equal(codes[0], 7);
    assert_int_equal(codes[4], 99);
    offset_topics_answer(&topics, 8);
    offset_topics_answer(&topics, 9); /* none is left */
    assert_int_equal(codes[4], 8);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void by_id(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = two_partitions(&kit);
    struct offset_topics topics = offset_topics_of(image, true, 2, &kit.arena);
    struct uuid id = kit_id(5), other = kit_id(6);
    const struct meta_topic *t = offset_topics_find(&topics, SLICE_LIT(""), &id);
    assert_non_null(t);
    assert_null(offset_topics_find(&topics, SLICE_LIT("t"), &other));
    int16_t code = 99;
    assert_false(offset_topics_keep(&topics, t, 2, &code));
    assert_int_equal(code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_false(offset_topics_keep(&topics, NULL, 0, &code));
    assert_int_equal(code, ERR_UNKNOWN_TOPIC_ID);
    meta_image_unref(image);
    kit_fini(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
