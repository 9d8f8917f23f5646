/* Histograms: buckets cover all values without gap or overlap; quantiles keep their promise. */
#include "../unit.h"

#include <string.h>

#include "stats/histogram.h"

static void test_buckets_have_no_gap(void **state)
{
    (void)state;
    assert_int_equal(histogram_bucket_of(0), 0);
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t end = histogram_bucket_end(i);
        assert_int_equal(histogram_bucket_of(end), i);
        if (i + 1 < HISTOGRAM_BUCKETS)
            assert_int_equal(histogram_bucket_of(end + 1), i + 1);
        else
            assert_true(end == UINT64_MAX);
    }
}

static void test_quantiles(void **state)
{
    (void)state;
    static struct histogram a, b;
    struct histogram_view view;
    memset(&view, 0, sizeof(view));
    assert_int_equal(histogram_view_quantile(&view, 0.5), 0);
    for (int i = 1; i <= 1000; i++)
        histogram_record(i % 2 ? &a : &b, i);
    histogram_record(&a, -7);
    histogram_collect(&a, &view);
    histogram_collect(&b, &view);
    assert_int_equal(view.count, 1001);
    assert_int_equal(view.sum, 500500);
    assert_int_equal(view.max, 1000);
    assert_int_equal(histogram_view_quantile(&view, 0), 0);
    assert_int_equal(histogram_view_quantile(&view, 1), 1000);
    for (int percent = 1; percent < 100; percent++) {
        uint64_t exact = (uint64_t)percent * 10;
        uint64_t got = histogram_view_quantile(&view, percent / 100.0);
        assert_true(got + 1 >= exact);
        assert_true(got <= exact + exact / 8 + 1);
    }
}

static void test_extremes(void **state)
{
    (void)state;
    static struct histogram h;
    struct histogram_view view;
    memset(&view, 0, sizeof(view));
    histogram_record(&h, INT64_MAX);
    histogram_collect(&h, &view);
    assert_true(histogram_view_quantile(&view, 0.5) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_have_no_gap),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
