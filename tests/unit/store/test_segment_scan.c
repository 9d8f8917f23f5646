#include "store/segment.h"

#include "segment_fixture.h"

static void walks_and_checks(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 50; i++)
        segment_add(&x, 1, i == 20 ? 5000 : 30, 1000);
    int fd;
    assert_int_equal(log_file_pin(&x.segment->files[SEGMENT_LOG], false, &fd), ERR_NONE);
    uint8_t window[1000];
    for (int damaged = 0; damaged < 2; damaged++) {
        struct segment_scan scan;
        struct batch_info info;
        uint32_t position;
        int count = 0, bad = 0;
        segment_scan_init(&scan, x.f->io, fd, 0, x.segment->size, window, sizeof window);
        while (!segment_scan_next(&scan, &info, &position)) {
            assert_int_equal(info.offset_base, 100 + count);
            /* The head is only in the window: keep it, as the walker's users do. */
            uint8_t head[BATCH_HEADER_SIZE];
            memcpy(head, info.data, sizeof head);
            info.data = head;
            bad += segment_scan_check(&scan, &info, position) == ERR_CORRUPT_MESSAGE;
            struct slice bytes;
            uint8_t *owned;
            assert_int_equal(segment_scan_bytes(&scan, &info, position, &bytes, &owned), ERR_NONE);
            assert_int_equal(bytes.size, info.size);
            assert_int_equal(batch_base_offset(bytes.data), 100 + count);
            assert_int_equal(owned != NULL, count == 20);
            mem_free(owned);
            count++;
        }
        assert_int_equal(count, 50);
        assert_int_equal(bad, damaged * 2);
        /* One byte of a small batch and one of the large one. */
        assert_int_equal(io_pwrite(x.f->io, fd, "#", 1, 80), ERR_NONE);
        assert_int_equal(io_pwrite(x.f->io, fd, "#", 1, 5000), ERR_NONE);
    }
    log_file_unpin(&x.segment->files[SEGMENT_LOG]);
    segment_end(&x);
}

static void ends_at_what_is_no_batch(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    segment_add(&x, 1, 30, 1000);
    segment_add(&x, 1, 30, 1000);
    int fd;
    assert_int_equal(log_file_pin(&x.segment->files[SEGMENT_LOG], false, &fd), ERR_NONE);
    uint8_t window[SEGMENT_SCAN_STACK];
    uint32_t size = x.segment->size;
    for (uint32_t end_at = size / 2 + 1; end_at < size; end_at++) {
        struct segment_scan scan;
        struct batch_info info;
        uint32_t position;
        segment_scan_init(&scan, x.f->io, fd, 0, end_at, window, sizeof window);
        assert_int_equal(segment_scan_next(&scan, &info, &position), ERR_NONE);
        assert_int_equal(segment_scan_next(&scan, &info, &position), ERR_CORRUPT_MESSAGE);
    }
    log_file_unpin(&x.segment->files[SEGMENT_LOG]);
    segment_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(walks_and_checks),
        STORE_TEST(ends_at_what_is_no_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
