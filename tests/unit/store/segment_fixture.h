/* One segment that begins at offset 100, and batches to put into it. */
#ifndef KLAMM_TESTS_SEGMENT_FIXTURE_H
#define KLAMM_TESTS_SEGMENT_FIXTURE_H

#include "store_fixture.h"

#include "store/segment.h"

struct segment_fixture {
    struct store_fixture *f;
    struct file_cache *cache;
    struct log_path *path;
    struct segment *segment;
    int64_t next;
};

static inline void segment_begin(struct segment_fixture *x, struct store_fixture *f)
{
    *x = (struct segment_fixture){.f = f, .next = 100};
    x->cache = file_cache_new(f->io, 10);
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    x->path = log_path_new(f->path);
    x->segment = segment_new(x->cache, x->path, 100, 0);
    assert_int_equal(segment_create(x->segment), ERR_NONE);
}

static inline void segment_end(struct segment_fixture *x)
{
    segment_unref(x->segment);
    log_path_unref(x->path);
    file_cache_unref(x->cache);
}

static inline void segment_add(struct segment_fixture *x, int count, size_t size, int64_t time)
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
static inline void segment_reload(struct segment_fixture *x)
{
    uint32_t size = x->segment->size;
    segment_unref(x->segment);
    x->segment = segment_new(x->cache, x->path, 100, 0);
    x->segment->size = size;
}

#endif
