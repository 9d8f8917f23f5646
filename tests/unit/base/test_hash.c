#include "base/hash.h"

#include "../unit.h"

/* Values that Apache Kafka 4.4.0's own classes gave. */
static void coordinator_partition_matches_kafka(void **state)
{
    (void)state;
    assert_int_equal(coordinator_partition(SLICE_LIT("g-classic"), 50), 18);
    assert_int_equal(coordinator_partition(SLICE_LIT("g-consumer"), 50), 32);
    assert_int_equal(coordinator_partition(SLICE_LIT("tx-2"), 50), 21);
}

static void java_hash_counts_utf16_units(void **state)
{
    (void)state;
    assert_int_equal(java_hash(SLICE_LIT("")), 0);
    assert_int_equal(java_hash(SLICE_LIT("hello")), 99162322);
    assert_int_equal(java_hash(SLICE_LIT("\xc3\xa9")), 0xe9);
    /* U+1F600 is the pair d83d de00. */
    assert_int_equal(java_hash(SLICE_LIT("\xf0\x9f\x98\x80")), 31 * 0xd83d + 0xde00);
    /* hashCode -2147483648: abs gives 0 in Kafka. */
    assert_int_equal(java_hash(SLICE_LIT("polygenelubricants")), INT32_MIN);
    assert_int_equal(coordinator_partition(SLICE_LIT("polygenelubricants"), 50), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinator_partition_matches_kafka),
        cmocka_unit_test(java_hash_counts_utf16_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
