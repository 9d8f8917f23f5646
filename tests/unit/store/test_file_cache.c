#include "store/file_cache.h"

#include "store/segment.h"
#include "store_fixture.h"

enum { SEGMENTS = 12 };

static void idle_files_make_room(void **state)
{
    struct store_fixture *f = *state;
    struct file_cache *cache = file_cache_new(f->io, 4);
    struct log_path *path = log_path_new(f->root);
    struct segment *segments[SEGMENTS];
    int fd, pinned;
    for (int i = 0; i < SEGMENTS; i++) {
        segments[i] = segment_new(cache, path, i, 0);
        assert_int_equal(segment_create(segments[i]), ERR_NONE);
        assert_true(file_cache_open_count(cache) <= 4);
    }
    /* Pinned files stay open, whatever the limit; the least recently used one goes. */
    struct log_file *first = &segments[0]->files[SEGMENT_LOG];
    assert_int_equal(log_file_pin(first, false, &pinned), ERR_NONE);
    for (int i = 1; i < SEGMENTS; i++) {
        assert_int_equal(log_file_pin(&segments[i]->files[SEGMENT_LOG], false, &fd), ERR_NONE);
        log_file_unpin(&segments[i]->files[SEGMENT_LOG]);
    }
    assert_int_equal(first->fd, pinned);
    assert_false(file_cache_is_short(cache));
    assert_int_equal(log_file_pin(&segments[1]->files[SEGMENT_LOG], false, &fd), ERR_NONE);
    assert_true(file_cache_is_short(cache)); /* two of four */
    log_file_unpin(&segments[1]->files[SEGMENT_LOG]);
    log_file_close(&segments[1]->files[SEGMENT_LOG]);
    assert_int_equal(log_file_pin(&segments[2]->files[SEGMENT_LOG], false, &fd), ERR_NONE);
    log_file_unpin(&segments[2]->files[SEGMENT_LOG]);
    assert_false(file_cache_is_short(cache));
    assert_int_equal(segments[SEGMENTS - 1]->files[SEGMENT_LOG].fd >= 0, true);
    assert_int_equal(segments[1]->files[SEGMENT_LOG].fd, -1);
    assert_int_equal(file_cache_open_count(cache), 4);
    log_file_close(first); /* pinned: stays */
    assert_int_equal(first->fd, pinned);
    log_file_unpin(first);
    log_file_close(first);
    assert_int_equal(first->fd, -1);
    assert_int_equal(log_file_pin(&segments[0]->files[SEGMENT_TXN_INDEX], false, &fd),
                     ERR_NOT_FOUND);
    /* The cache lives as long as its segments. */
    file_cache_unref(cache);
    log_path_unref(path);
    for (int i = 0; i < SEGMENTS; i++)
        segment_unref(segments[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(idle_files_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
