#include "net/outq.h"

#include "base/mem.h"
#include "os/io_ops.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"

/* A socket that takes `room` bytes a call and writes down the calls. */
static char trace[512], sent[512];
static size_t sent_size, room;
static bool cold;

static enum err fake_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                           size_t *ret_size)
{
    (void)io;
    (void)fd;
    if (room == 0)
        return ERR_AGAIN;
    size_t size = 0;
    for (int i = 0; i < count && size < room; i++) {
        size_t part = parts[i].iov_len < room - size ? parts[i].iov_len : room - size;
        memcpy(sent + sent_size, parts[i].iov_base, part);
        sent_size += part;
        size += part;
    }
    size_t at = strlen(trace);
    snprintf(trace + at, sizeof trace - at, "v%zu%s ", size, more ? "+" : "");
    *ret_size = size;
    return ERR_NONE;
}

static enum err fake_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                              size_t *ret_size)
{
    (void)io;
    (void)fd;
    if (room == 0)
        return ERR_AGAIN;
    size = size < room ? size : room;
    size_t at = strlen(trace);
    snprintf(trace + at, sizeof trace - at, "f%d@%d:%zu ", file_fd, (int)offset, size);
    for (size_t i = 0; i < size; i++)
        sent[sent_size++] = 'F';
    *ret_size = size;
    return ERR_NONE;
}

static bool fake_is_cached(struct io *io, int fd, int64_t offset, size_t size)
{
    (void)io;
    (void)fd;
    (void)offset;
    (void)size;
    return !cold;
}

static const struct io_ops ops = {
    .sendv = fake_sendv, .sendfile = fake_sendfile, .is_cached = fake_is_cached};
static struct io io = {&ops};
static int releases;

static void released(void *owner)
{
    releases += *(int *)owner;
}

static int setup(void **state)
{
    (void)state;
    trace[0] = '\0';
    memset(sent, 0, sizeof sent);
    sent_size = 0;
    room = 1000;
    cold = false;
    releases = 0;
    return 0;
}

static void fill(struct outq *q)
{
    static int one = 1, ten = 10;
    outq_init(q);
    struct outq_item items[] = {
        outq_memory(SLICE_LIT("head"), NULL, NULL),
        outq_memory(SLICE_LIT("er"), released, &one),
        outq_file((struct outq_range){7, 100, 30}, released, &ten),
        outq_memory(SLICE_LIT("tail"), released, &one),
    };
    outq_put(q, items, 4);
}

static void interleaves(void **state)
{
    (void)state;
    struct outq q;
    fill(&q);
    assert_int_equal(q.size, 44);
    size_t size;
    assert_int_equal(outq_send(&q, &io, 3, 1000, true, &size), ERR_NONE);
    assert_int_equal(size, 44);
    assert_true(outq_empty(&q));
    assert_int_equal(q.size, 0);
    assert_string_equal(trace, "v10+ f7@100:30 v4 ");
    assert_memory_equal(sent, "\0\0\0\50headerFFFF", 14);
    assert_memory_equal(sent + 40, "tail", 4);
    assert_int_equal(releases, 12);
    outq_fini(&q);
}

static void goes_on_after_short_writes(void **state)
{
    (void)state;
    for (size_t step = 1; step < 12; step++) {
        setup(NULL);
        struct outq q;
        fill(&q);
        size_t total = 0, size;
        while (!outq_empty(&q)) {
            room = step;
            assert_int_equal(outq_send(&q, &io, 3, step, true, &size), ERR_NONE);
            total += size;
            room = 0;
            if (!outq_empty(&q)) {
                assert_int_equal(outq_send(&q, &io, 3, step, true, &size), ERR_AGAIN);
                assert_int_equal(size, 0);
            }
        }
        assert_int_equal(total, 44);
        assert_memory_equal(sent, "\0\0\0\50headerFFFF", 14);
        assert_memory_equal(sent + 40, "tail", 4);
        assert_int_equal(releases, 12);
        outq_fini(&q);
    }
}

static void stops_before_a_cold_range(void **state)
{
    (void)state;
    struct outq q;
    fill(&q);
    cold = true;
    size_t size;
    struct outq_range range;
    assert_false(outq_next_range(&q, 10, &range));
    assert_int_equal(outq_send(&q, &io, 3, 1000, true, &size), ERR_NONE);
    assert_int_equal(size, 10);
    assert_true(outq_next_range(&q, 10, &range));
    assert_int_equal(range.fd, 7);
    assert_int_equal(range.position, 100);
    assert_int_equal(range.size, 10);
    assert_int_equal(outq_send(&q, &io, 3, 10, false, &size), ERR_NONE);
    assert_int_equal(size, 10);
    assert_string_equal(trace, "v10+ f7@100:10 ");
    outq_fini(&q); /* releases what is left */
    assert_int_equal(releases, 12);
}

static void many_and_empty_replies(void **state)
{
    (void)state;
    struct outq q;
    outq_init(&q);
    static int one = 1;
    size_t size;
    outq_put(&q, NULL, 0);
    assert_int_equal(q.size, 4);
    for (int i = 0; i < 40; i++) {
        struct outq_item item = outq_memory(SLICE_LIT("x"), released, &one);
        outq_put(&q, &item, 1);
    }
    assert_int_equal(outq_send(&q, &io, 3, 1000, true, &size), ERR_NONE);
    assert_int_equal(size, 4 + 40 * 5);
    assert_memory_equal(sent, "\0\0\0\0\0\0\0\1x\0\0\0\1x", 14);
    assert_int_equal(releases, 40);
    assert_true(outq_empty(&q));
    outq_fini(&q);
}

#define OUTQ_TEST(name) cmocka_unit_test_setup_teardown(name, setup, NULL)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTQ_TEST(interleaves), OUTQ_TEST(goes_on_after_short_writes),
        OUTQ_TEST(stops_before_a_cold_range), OUTQ_TEST(many_and_empty_replies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
