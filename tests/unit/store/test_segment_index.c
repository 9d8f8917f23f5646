#include "store/segment.h"

#include "store_fixture.h"

struct fixture {
    struct store_fixture *f;
    struct file_cache *cache;
    struct log_path *path;
    struct segment *segment;
    int64_t next;
};

static void begin(struct fixture *x, struct store_fixture *f)
{
    *x = (struct fixture){.f = f, .next = 100};
    x->cache = file_cache_new(f->io, 10);
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    x->path = log_path_new(f->path);
    x->segment = segment_new(x->cache, x->path, 100, 0);
    assert_int_equal(segment_create(x->segment), ERR_NONE);
}

static void end(struct fixture *x)
{
    segment_unref(x->segment);
    log_path_unref(x->path);
    file_cache_unref(x->cache);
}

static void add(struct fixture *x, int count, size_t size, int64_t time)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = x->next;
    struct slice batch = store_batch(x->f, &options, count, size, time);
    struct iovec part = {(void *)(uintptr_t)batch.data, batch.size};
    assert_int_equal(segment_write(x->segment, &part, 1), ERR_NONE);
    segment_add_batch(x->segment, 500, (uint32_t)batch.size, x->next + count - 1, time + count - 1);
    x->next += count;
}

/* The same files as a segment of a later run. */
static void reload(struct fixture *x)
{
    uint32_t size = x->segment->size;
    segment_unref(x->segment);
    x->segment = segment_new(x->cache, x->path, 100, 0);
    x->segment->size = size;
}

static void rebuilt_equals_written(void **state)
{
    struct fixture x;
    begin(&x, *state);
    for (int i = 0; i < 300; i++)
        add(&x, 1 + i % 3, 20, 1000 + (i % 10 ? i : -i));
    assert_int_equal(segment_write_indexes(x.segment, true), ERR_NONE);
    struct buf files[4];
    static const char *const names[] = {"00000000000000000100.index",
                                        "00000000000000000100.timeindex"};
    for (int i = 0; i < 4; i++)
        buf_init(&files[i]);
    store_slurp(x.f, names[0], &files[0]);
    store_slurp(x.f, names[1], &files[1]);
    assert_true(files[0].size > 100);
    reload(&x);
    assert_int_equal(segment_rebuild_indexes(x.segment, 500), ERR_NONE);
    store_slurp(x.f, names[0], &files[2]);
    store_slurp(x.f, names[1], &files[3]);
    assert_true(slice_eq(buf_slice(&files[0]), buf_slice(&files[2])));
    assert_true(slice_eq(buf_slice(&files[1]), buf_slice(&files[3])));
    for (int i = 0; i < 4; i++)
        buf_fini(&files[i]);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(rebuilt_equals_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
