#include "store/log_dirs.h"

#include "store_fixture.h"

static void is_read_and_written(void **state)
{
    struct store_fixture *f = *state;
    struct log_meta meta = {.version = 1, .cluster_id = "XNQqkOX6RGuCjf4xne8yEA", .node_id = 7};
    meta.directory_id.bytes[3] = 9;
    struct log_meta again;
    assert_int_equal(log_meta_read(f->io, f->root, &again), ERR_NOT_FOUND);
    assert_int_equal(log_meta_write(f->io, f->root, &meta), ERR_NONE);
    assert_int_equal(log_meta_read(f->io, f->root, &again), ERR_NONE);
    assert_string_equal(again.cluster_id, meta.cluster_id);
    assert_int_equal(again.node_id, 7);
    assert_int_equal(again.version, 1);
    assert_true(uuid_eq(&again.directory_id, &meta.directory_id));
}

static enum err parse(struct store_fixture *f, const char *text, struct log_meta *ret_meta)
{
    snprintf(f->path, sizeof f->path, "%s", f->root);
    store_poke(f, "meta.properties", 0, text, strlen(text));
    store_cut_file(f, "meta.properties", (int64_t)strlen(text));
    return log_meta_read(f->io, f->root, ret_meta);
}

/* The first text is what Apache Kafka 4.4.0 wrote. */
static void reads_kafkas_and_refuses_damage(void **state)
{
    struct store_fixture *f = *state;
    struct log_meta meta;
    assert_int_equal(parse(f,
                           "#\n#Mon Nov 30 17:28:06 UTC 2026\nnode.id=1\n"
                           "directory.id=0xgTBgcVT42g2r0D_HJiSw\nversion=1\n"
                           "cluster.id=XNQqkOX6RGuCjf4xne8yEA\n",
                           &meta),
                     ERR_NONE);
    char text[UUID_TEXT_SIZE + 1];
    assert_string_equal(uuid_format(&meta.directory_id, text), "0xgTBgcVT42g2r0D_HJiSw");
    assert_string_equal(meta.cluster_id, "XNQqkOX6RGuCjf4xne8yEA");
    assert_int_equal(meta.node_id, 1);
    assert_int_equal(parse(f, "version=0\nbroker.id=5\n", &meta), ERR_NONE);
    assert_int_equal(meta.node_id, 5);
    assert_int_equal(meta.cluster_id[0], 0);
    assert_int_equal(parse(f, "", &meta), ERR_CORRUPT);
    assert_int_equal(parse(f, "version=2\nnode.id=1\ncluster.id=x\n", &meta), ERR_CORRUPT);
    assert_int_equal(parse(f, "version=1\ncluster.id=x\n", &meta), ERR_CORRUPT);
    assert_int_equal(parse(f, "version=1\nnode.id=-1\ncluster.id=x\n", &meta), ERR_CORRUPT);
    assert_int_equal(parse(f, "version=1\nnode.id=1\n", &meta), ERR_CORRUPT);
    assert_int_equal(parse(f, "version=1\nnode.id=1\ncluster.id=x\ndirectory.id=1\n", &meta),
                     ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(is_read_and_written),
        STORE_TEST(reads_kafkas_and_refuses_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
