#include "base/siphash.h"

#include "../unit.h"

/* The reference implementation's vectors: key 00..0f, input of n bytes 00, 01, ..., output in
 * little-endian order of the two words. */
static void equals_the_reference(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint8_t hash[16];
    } rows[] = {
        {0,
         {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
          0x93}},
        {1,
         {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
          0x45}},
    };
    const struct siphash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t input[16];
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct siphash h = siphash(&key, slice_of(input, rows[i].size));
        for (int byte = 0; byte < 8; byte++) {
            assert_int_equal((uint8_t)(h.low >> 8 * byte), rows[i].hash[byte]);
            assert_int_equal((uint8_t)(h.high >> 8 * byte), rows[i].hash[8 + byte]);
        }
    }
}

/* Every length up to a few words, and every key, gives another hash. */
static void all_bytes_count(void **state)
{
    (void)state;
    uint8_t input[40] = {0};
    struct siphash seen[sizeof input + 2];
    struct siphash_key key = {1, 2};
    for (size_t size = 0; size <= sizeof input; size++)
        seen[size] = siphash(&key, slice_of(input, size));
    key.k1++;
    seen[sizeof input + 1] = siphash(&key, slice_of(input, sizeof input));
    for (size_t i = 0; i < sizeof input + 2; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(seen[i].low != seen[j].low && seen[i].high != seen[j].high);
    uint8_t before = input[39];
    input[39] ^= 1;
    key.k1--;
    struct siphash h = siphash(&key, slice_of(input, sizeof input));
    assert_int_equal(before, 0);
    assert_true(h.low != seen[sizeof input].low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(all_bytes_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
