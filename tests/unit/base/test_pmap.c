#include "base/pmap.h"

#include "base/be.h"

#include "../unit.h"

static int live; /* references held on all values */

static void value_ref(void *value)
{
    (void)value;
    live++;
}

static void value_unref(void *value)
{
    (void)value;
    live--;
}

static const struct pmap_type type = {value_ref, value_unref};

static struct slice key(uint8_t bytes[4], uint32_t k)
{
    be_put_u32(bytes, k);
    return slice_of(bytes, 4);
}

static void old_roots_stay_as_they_were(void **state)
{
    (void)state;
    enum { STEPS = 400 };
    static const struct pmap *roots[STEPS + 1];
    uint8_t bytes[4];
    roots[0] = NULL;
    for (uint32_t i = 0; i < STEPS; i++)
        roots[i + 1] = i % 4 == 3
                           ? pmap_remove(roots[i], &type, key(bytes, i / 2))
                           : pmap_put(roots[i], &type, key(bytes, i), (void *)(uintptr_t)(i + 1));
    for (uint32_t r = 0; r <= STEPS; r++) {
        size_t count = 0;
        for (uint32_t k = 0; k < STEPS; k++) {
            /* k was put at step k (unless k % 4 == 3) and removed at the step i with i / 2 == k. */
            bool put = k < r && k % 4 != 3;
            uint32_t gone = 2 * k + 1;
            bool removed = gone % 4 == 3 && gone < r;
            bool want = put && !removed;
            count += want;
            assert_ptr_equal(pmap_get(roots[r], key(bytes, k)),
                             want ? (void *)(uintptr_t)(k + 1) : NULL);
        }
        assert_int_equal(pmap_count(roots[r]), count);
    }
    for (uint32_t r = 0; r <= STEPS; r++)
        pmap_unref(roots[r], &type);
    assert_int_equal(live, 0);
}

static void walks_in_order(void **state)
{
    (void)state;
    const struct pmap *root = NULL;
    uint8_t bytes[4];
    for (uint32_t i = 0; i < 100; i++) {
        const struct pmap *next = pmap_put(root, &type, key(bytes, i * 37 % 100), "v");
        pmap_unref(root, &type);
        root = next;
    }
    struct slice at = SLICE_NULL, ranked;
    for (uint32_t i = 0; i < 100; i++) {
        assert_non_null(pmap_seek(root, at, true, &at));
        assert_int_equal(be_u32(at.data), i);
        assert_non_null(pmap_at(root, i, &ranked));
        assert_int_equal(be_u32(ranked.data), i);
    }
    assert_null(pmap_seek(root, at, true, &at));
    assert_non_null(pmap_seek(root, at, false, &at));
    pmap_unref(root, &type);
    assert_int_equal(live, 0);
}

struct seen_changes {
    uint32_t keys[512];
    void *old[512], *new[512];
    size_t count;
};

static void see_change(void *context, struct slice k, void *old, void *new)
{
    struct seen_changes *seen = context;
    seen->keys[seen->count] = be_u32(k.data);
    seen->old[seen->count] = old;
    seen->new[seen->count++] = new;
}

/* Every pair of roots along a history: the changes are those that a comparison by key finds. */
static void differences(void **state)
{
    (void)state;
    enum { STEPS = 120, KEYS = 60 };
    static const struct pmap *roots[STEPS + 1];
    uint8_t bytes[4];
    uint32_t random = 1;
    for (uint32_t i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t k = random >> 8;
        roots[i + 1] = k / KEYS % 3 == 0 ? pmap_remove(roots[i], &type, key(bytes, k % KEYS))
                                         : pmap_put(roots[i], &type, key(bytes, k % KEYS),
                                                    (void *)(uintptr_t)(1 + k / KEYS % 5));
    }
    for (uint32_t a = 0; a <= STEPS; a++) {
        for (uint32_t b = 0; b <= STEPS; b++) {
            struct seen_changes seen = {.count = 0};
            pmap_diff(roots[a], roots[b], see_change, &seen);
            size_t want = 0;
            for (uint32_t k = 0; k < KEYS; k++) {
                void *old = pmap_get(roots[a], key(bytes, k));
                void *new = pmap_get(roots[b], key(bytes, k));
                if (old == new)
                    continue;
                size_t at = 0;
                while (at < seen.count && seen.keys[at] != k)
                    at++;
                assert_in_range(at, 0, seen.count - 1);
                assert_ptr_equal(seen.old[at], old);
                assert_ptr_equal(seen.new[at], new);
                want++;
            }
            assert_int_equal(seen.count, want);
        }
    }
    for (uint32_t r = 0; r <= STEPS; r++)
        pmap_unref(roots[r], &type);
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_roots_stay_as_they_were),
        cmocka_unit_test(walks_in_order),
        cmocka_unit_test(differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
