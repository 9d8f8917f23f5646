#include "api/producer_ids.h"
#include "harness.h"

#include <stdatomic.h>

enum { CALLS = 2500 };

struct asked {
    struct producer_id_call call;
    atomic_int *count;
};

static void done(struct producer_id_call *call)
{
    atomic_fetch_add(LIST_ITEM(call, struct asked, call)->count, 1);
}

/* More calls at once than two blocks hold: each gets an id of its own. */
static void blocks_follow_each_other(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static struct asked asked[CALLS];
    atomic_int count = 0;
    for (int i = 0; i < CALLS; i++) {
        asked[i] = (struct asked){.call.done = done, .count = &count};
        producer_ids_next(node_context(h.node)->producer_ids, &asked[i].call);
    }
    for (int i = 0; i < 5000 && atomic_load(&count) < CALLS; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&count), CALLS);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(asked[i].call.error, ERR_NONE);
        assert_true(i == 0 || asked[i].call.producer_id > asked[i - 1].call.producer_id);
    }
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
