#include "store/checkpoint.h"

#include "store_fixture.h"

static void is_written_and_read_as_kafka_does(void **state)
{
    struct store_fixture *f = *state;
    struct checkpoint c;
    checkpoint_init(&c);
    checkpoint_put(&c, SLICE_LIT("a.b_c-d"), 11, INT64_MAX);
    checkpoint_put(&c, SLICE_LIT("t"), 0, 0);
    assert_int_equal(checkpoint_write(&c, f->io, f->root, "cp", true), ERR_NONE);
    checkpoint_fini(&c);
    snprintf(f->path, sizeof f->path, "%s", f->root);
    struct buf text;
    buf_init(&text);
    store_slurp(f, "cp", &text);
    assert_slice_eq(buf_slice(&text), "0\n2\na.b_c-d 11 9223372036854775807\nt 0 0\n");
    buf_fini(&text);
    assert_int_equal(store_file_size(f, "cp.tmp"), -1);

    int64_t offset = -7;
    assert_int_equal(checkpoint_read(&c, f->io, f->root, "cp"), ERR_NONE);
    assert_true(checkpoint_get(&c, SLICE_LIT("a.b_c-d"), 11, &offset));
    assert_int_equal(offset, INT64_MAX);
    assert_true(checkpoint_get(&c, SLICE_LIT("t"), 0, &offset));
    assert_int_equal(offset, 0);
    assert_false(checkpoint_get(&c, SLICE_LIT("t"), 1, &offset));
    checkpoint_fini(&c);
}

static void absent_is_empty(void **state)
{
    struct store_fixture *f = *state;
    struct checkpoint c;
    int64_t offset;
    checkpoint_init(&c);
    assert_int_equal(checkpoint_read(&c, f->io, f->root, "cp"), ERR_NONE);
    assert_false(checkpoint_get(&c, SLICE_LIT("t"), 0, &offset));
    /* A killed Kafka leaves files of no bytes. */
    snprintf(f->path, sizeof f->path, "%s", f->root);
    store_poke(f, "cp", 0, "", 0);
    assert_int_equal(checkpoint_read(&c, f->io, f->root, "cp"), ERR_NONE);
    assert_false(checkpoint_get(&c, SLICE_LIT("t"), 0, &offset));
    checkpoint_fini(&c);
}

static void damage_is_found(void **state)
{
    struct store_fixture *f = *state;
    static const char *const texts[] = {
        "1\n0\n",         "0\n",
        "0\n2\nt 0 1\n",  "0\n0\nt 0 1\n",
        "0\n1\nt 0\n",    "0\n1\nt 0 1 2\n",
        "0\n1\nt 0 x\n",  "0\n1\nt -1 1\n",
        "0\n-1\n",        "0\n1\nt  0 1\n",
        "0\n1\nt 0 -1\n", "\n",
        "0\n1\n\n",
    };
    snprintf(f->path, sizeof f->path, "%s", f->root);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        store_poke(f, "cp", 0, texts[i], strlen(texts[i]));
        store_cut_file(f, "cp", (int64_t)strlen(texts[i]));
        struct checkpoint c;
        int64_t offset;
        checkpoint_init(&c);
        assert_int_equal(checkpoint_read(&c, f->io, f->root, "cp"), ERR_CORRUPT);
        assert_false(checkpoint_get(&c, SLICE_LIT("t"), 0, &offset));
        checkpoint_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(is_written_and_read_as_kafka_does),
        STORE_TEST(absent_is_empty),
        STORE_TEST(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
