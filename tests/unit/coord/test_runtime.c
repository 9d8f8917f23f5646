/* The life of a shard, and the check of it all: after any events, what the log alone gives back is
 * what lives. */
#include "group_trace.h"

static void test_life(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    assert_int_equal(coord_shard_state(t->shard), ERR_COORDINATOR_LOAD_IN_PROGRESS);
    commit_offset(t, "a", "t", 0, 1);
    trace_activate(t);
    assert_int_equal(coord_shard_state(t->shard), ERR_NONE);
    commit_offset(t, "a", "t", 0, 1);
    trace_unload(t);
    assert_int_equal(coord_shard_state(t->shard), ERR_NOT_COORDINATOR);
    commit_offset(t, "a", "t", 0, 1);
    expect(t, "a commit COORDINATOR_LOAD_IN_PROGRESS\na commit NONE\na commit NOT_COORDINATOR\n");
    wait_ms(t, 1000);
    trace_free(t);
}

static void test_deadline(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    assert_int_equal(t->deadline_ms, t->event.now_ms + 600000); /* the next retention check */
    stable_one(t, "a");
    assert_int_equal(t->deadline_ms, t->event.now_ms + 10000); /* the session of a */
    wait_ms(t, 4000);
    heartbeat(t, "a");
    assert_int_equal(t->deadline_ms, t->event.now_ms + 10000);
    trace_free(t);
}

/* Commits waiting in order; a commit of the second completes both. */
static void test_order_of_commits(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->hold = true;
    commit_offset(t, "a", "t", 0, 1);
    commit_offset(t, "b", "t", 0, 2);
    commit_offset(t, "c", "t", 0, 3);
    struct coord_update update;
    coord_update_init(&update);
    coord_shard_committed(t->shard, &t->event, 2, &update);
    trace_deliver(t, &update);
    expect(t, "a commit NONE\nb commit NONE\n");
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 2 7 '' NONE\n");
    coord_update_init(&update);
    coord_shard_committed(t->shard, &t->event, 1, &update); /* back: ignored */
    trace_deliver(t, &update);
    expect(t, "");
    trace_free(t);
}

/* ---- random events ----------------------------------------------------------------------- */

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static const char *const groups[] = {"g0", "g1", "g2"};
static const char *const topics[] = {"t", "u"};
static const char *const names[] = {"a", "b", "c", "d", "e", "f", "s1", "s2"};

static void random_event(struct trace *t, uint64_t *seed)
{
    const char *name = names[next_random(seed) % 8];
    struct client *c = trace_client(t, name);
    if (c->group[1] == 0)
        c->group = groups[next_random(seed) % 3];
    if (name[0] == 's')
        c->instance = "one";
    const char *topic = topics[next_random(seed) % 2];
    int32_t partition = (int32_t)(next_random(seed) % 4);
    t->hold = next_random(seed) % 3 == 0;
    t->append_error = next_random(seed) % 20 == 0 ? ERR_NOT_ENOUGH_REPLICAS : ERR_NONE;
    switch (next_random(seed) % 16) {
    case 0:
    case 1:
    case 2: join_version(t, name, next_random(seed) % 4 == 0 ? 3 : 9); break;
    case 3:
    case 4:
    case 5: SYNC(t, name, "a", "b", "c", "d", "e", "f", "s1", "s2"); break;
    case 6: heartbeat(t, name); break;
    case 7: leave(t, name); break;
    case 8:
    case 9: commit_offset(t, name, topic, partition, next_random(seed) % 1000); break;
    case 10: delete_offset(t, name, topic, partition); break;
    case 11: delete_group(t, c->group); break;
    case 12:
        c->member_id = SLICE_LIT(""); /* the client starts anew */
        c->generation = -1;
        break;
    case 13: commit_all(t); break;
    default: wait_ms(t, next_random(seed) % 5000); break;
    }
    buf_clear(&t->lines);
}

/* What is durable, as text: offsets of all groups, and the Stable ones with their members. */
static void durable_lines(struct trace *t, struct coord_shard *shard,
                          const struct coord_shard *live)
{
    for (size_t i = 0; i < 3; i++) {
        fetch_lines(t, shard, groups[i], "t", 0, false);
        fetch_lines(t, shard, groups[i], "t", 1, false);
        fetch_lines(t, shard, groups[i], "t", 2, false);
        fetch_lines(t, shard, groups[i], "t", 3, false);
        for (int32_t p = 0; p < 4; p++)
            fetch_lines(t, shard, groups[i], "u", p, false);
        struct describe_groups_response_described_group g;
        coord_groups_describe(live, &t->event, slice_str(groups[i]), &t->arena, &g);
        if (slice_eq_str(g.group_state, "Stable") || slice_eq_str(g.group_state, "Dead"))
            describe_lines(t, shard, groups[i], 5);
    }
}

static void test_log_gives_back_what_lives(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        struct trace *t = trace_new();
        for (int i = 0; i < 250; i++)
            random_event(t, &seed);
        t->append_error = ERR_NONE;
        t->hold = false;
        commit_all(t);
        buf_clear(&t->lines);
        durable_lines(t, t->shard, t->shard);
        char *live = mem_printf("%.*s", SLICE_FMT(buf_slice(&t->lines)));
        buf_clear(&t->lines);
        struct coord_shard *loaded = trace_load(t);
        struct coord_update update;
        coord_update_init(&update);
        coord_shard_activate(loaded, &t->event, t->log_end, t->epoch, &update);
        coord_update_deliver(&update);
        durable_lines(t, loaded, t->shard);
        expect(t, live);
        mem_free(live);
        coord_update_init(&update);
        coord_shard_unload(loaded, &update);
        coord_shard_free(loaded);
        trace_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_order_of_commits),
        cmocka_unit_test(test_log_gives_back_what_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
