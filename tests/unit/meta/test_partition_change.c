#include "meta_kit.h"

#include "meta/partition_change.h"

static void lists_of_ids(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct id_list a = id_list_of(&arena, (int32_t[]){3, 1, 2}, 3);
    struct id_list b = id_list_of(&arena, (int32_t[]){1, 9}, 2);
    struct id_list left = id_list_without(&arena, a, b);
    assert_int_equal(left.count, 2);
    assert_memory_equal(left.ids, ((int32_t[]){3, 2}), 2 * sizeof(int32_t));
    assert_true(id_list_has(a, 1));
    assert_false(id_list_has(a, 9));
    arena_fini(&arena);
}

/* Three brokers, one partition on all of them; what a change record says. */
struct scene {
    struct kit kit;
    struct meta_image *image;
    struct meta_records out;
    struct controller c;
    struct partition_change_record record;
};

static void scene_open(struct scene *s, int16_t elr)
{
    kit_init(&s->kit);
    meta_records_init(&s->out);
    kit_feature(&s->kit, "metadata.version", 33);
    kit_feature(&s->kit, "eligible.leader.replicas.version", elr);
    for (int32_t id = 1; id <= 3; id++)
        kit_broker(&s->kit, id, id, false);
    kit_topic(&s->kit, "t", 1);
    int32_t all[] = {1, 2, 3};
    struct uuid dirs[3] = {kit_id(77), kit_id(77), kit_id(77)};
    struct partition_record r;
    wire_init(&wire_partition_record, &r);
    r.partition_id = 0;
    r.topic_id = kit_id(1);
    r.replicas = r.isr = all;
    r.replicas_count = r.isr_count = 3;
    r.leader = 1;
    r.leader_epoch = r.partition_epoch = 0;
    r.directories = dirs;
    r.directories_count = 3;
    meta_records_add(&s->kit.records, &wire_partition_record, 2, &r);
    s->image = kit_image(&s->kit, NULL);
    s->c = (struct controller){.image = s->image, .arena = &s->kit.arena, .records = &s->out};
    controller_init(&s->c);
}

static void scene_close(struct scene *s)
{
    meta_image_unref(s->image);
    meta_records_fini(&s->out);
    kit_fini(&s->kit);
}

static struct partition_change change_of(struct scene *s, int32_t min_isr)
{
    struct partition_change change;
    partition_change_init(&change, &s->c, meta_image_topic(s->image, SLICE_LIT("t")), 0, min_isr);
    return change;
}

static const struct partition_change_record *last(struct scene *s)
{
    struct cursor c = cursor_of(meta_records_at(&s->out, s->out.count - 1));
    cursor_take(&c, 3);
    assert_int_equal(wire_decode(&wire_partition_change_record, 2, &c, &s->kit.arena, &s->record),
                     ERR_NONE);
    return &s->record;
}

static void nothing_to_say_is_no_record(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 1);
    struct partition_change change = change_of(&s, 2);
    assert_false(partition_change_add(&change));
    assert_int_equal(s.out.count, 0);
    scene_close(&s);
}

static void the_next_in_sync_replica_leads(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 0);
    struct partition_change change = change_of(&s, 2);
    change.view.removed = 1;
    change.isr = id_list_of(&s.kit.arena, (int32_t[]){2, 3}, 2);
    assert_true(partition_change_add(&change));
    assert_int_equal(last(&s)->leader, 2);
    assert_int_equal(s.record.isr_count, 2);
    assert_int_equal(s.record.eligible_leader_replicas_count, -1);
    scene_close(&s);
}

static void below_min_isr_those_who_left_stay_eligible(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 1);
    struct partition_change change = change_of(&s, 2);
    change.isr = id_list_of(&s.kit.arena, (int32_t[]){1}, 1);
    assert_true(partition_change_add(&change));
    assert_int_equal(last(&s)->leader, -2);
    assert_int_equal(s.record.eligible_leader_replicas_count, 2);
    assert_int_equal(s.record.eligible_leader_replicas[0], 2);
    assert_int_equal(s.record.eligible_leader_replicas[1], 3);
    scene_close(&s);
}

static void a_reassignment_ends_when_all_are_in_sync(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 1);
    struct partition_change change = change_of(&s, 1);
    change.replicas = id_list_of(&s.kit.arena, (int32_t[]){2, 3, 1}, 3);
    change.removing = id_list_of(&s.kit.arena, (int32_t[]){1}, 1);
    assert_true(partition_change_add(&change));
    assert_int_equal(last(&s)->leader, 2);
    assert_int_equal(s.record.replicas_count, 2);
    assert_int_equal(s.record.isr_count, 2);
    assert_int_equal(s.record.removing_replicas_count, -1);
    scene_close(&s);
}

static void unclean_elections_are_marked(void **state)
{
    (void)state;
    struct scene s;
    scene_open(&s, 0);
    struct partition_change change = change_of(&s, 1);
    change.view.removed = 1;
    change.isr = (struct id_list){NULL, 0};
    struct partition_change clean = change;
    assert_true(partition_change_add(&clean));
    assert_int_equal(last(&s)->leader, -1);
    change.election = ELECTION_UNCLEAN;
    assert_true(partition_change_add(&change));
    assert_int_equal(last(&s)->leader, 2);
    assert_int_equal(s.record.leader_recovery_state, 1);
    assert_int_equal(s.record.isr_count, 1);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_ids),
        cmocka_unit_test(nothing_to_say_is_no_record),
        cmocka_unit_test(the_next_in_sync_replica_leads),
        cmocka_unit_test(below_min_isr_those_who_left_stay_eligible),
        cmocka_unit_test(a_reassignment_ends_when_all_are_in_sync),
        cmocka_unit_test(unclean_elections_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
