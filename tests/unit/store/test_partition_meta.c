#include "store/partition_meta.h"

#include "store_fixture.h"

static void has_kafkas_bytes(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    struct uuid id, again;
    assert_int_equal(partition_meta_read(f->io, f->path, &id), ERR_NONE);
    char *path = store_file(f, "partition.metadata");
    assert_int_equal(io_unlink(f->io, path), ERR_NONE);
    mem_free(path);
    assert_int_equal(partition_meta_read(f->io, f->path, &again), ERR_NOT_FOUND);
    assert_int_equal(partition_meta_write(f->io, f->path, &id), ERR_NONE);
    assert_true(store_same_as_golden(f, "small-0", "partition.metadata"));
    assert_int_equal(partition_meta_read(f->io, f->path, &again), ERR_NONE);
    assert_true(uuid_eq(&id, &again));
}

static void damage_is_found(void **state)
{
    struct store_fixture *f = *state;
    static const char *const texts[] = {
        "",
        "version: 1\ntopic_id: 0xgTBgcVT42g2r0D_HJiSw",
        "version: 0\ntopic_id: short",
        "topic_id: 0xgTBgcVT42g2r0D_HJiSw",
        "version: 0\n",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
    };
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct uuid id;
        store_poke(f, "partition.metadata", 0, texts[i], strlen(texts[i]));
        store_cut_file(f, "partition.metadata", (int64_t)strlen(texts[i]));
        assert_int_equal(partition_meta_read(f->io, f->path, &id), ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(has_kafkas_bytes),
        STORE_TEST(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
