#include "net_fixture.h"

/* Frames may be freed on any thread and twice; taking empties the source. */
static void frees_on_another_thread(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    static const size_t sizes[] = {100, 9000, 70000, 2000000};
    for (int i = 0; i < 4; i++) {
        int fd = client_open(f);
        put_frame(fd, 'p', sizes[i]);
        wait_parked(f);
        struct frame frame = frame_take(&f->parked_frame);
        assert_null(f->parked_frame.data);
        assert_int_equal(frame.size, sizes[i]);
        assert_int_equal(frame_slice(&frame).data[0], 'p');
        assert_true(net_counters(f->net).queued_size >= (int64_t)sizes[i]);
        frame_free(&frame);
        assert_null(frame.data);
        frame_free(&frame);
        assert_int_equal(net_counters(f->net).queued_size, 0);
        client_reset(fd);
        wait_closed(f, i + 1);
        conn_unref(f->parked);
        f->parked = NULL;
    }
    net_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frees_on_another_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
