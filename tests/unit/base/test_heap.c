#include "base/heap.h"

#include "../unit.h"

static void comes_out_ordered_with_removals(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    struct heap_node nodes[COUNT] = {0};
    struct heap h;
    heap_init(&h);
    for (size_t i = 0; i < COUNT; i++)
        heap_add(&h, &nodes[i], (int64_t)(i * 7919 % 101));
    for (size_t i = 0; i < COUNT; i += 3)
        heap_remove(&h, &nodes[i]);
    heap_remove(&h, &nodes[0]);
    int64_t key = INT64_MIN;
    uint64_t sequence = 0;
    size_t seen = 0;
    for (struct heap_node *n; (n = heap_min(&h)); seen++) {
        assert_true(n->key > key || (n->key == key && n->sequence > sequence));
        key = n->key;
        sequence = n->sequence;
        heap_remove(&h, n);
        assert_false(heap_has(n));
    }
    assert_int_equal(seen, COUNT - (COUNT + 2) / 3);
    heap_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_out_ordered_with_removals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
