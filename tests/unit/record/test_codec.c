#include "record/codec.h"

#include "../unit.h"

static void names_and_numbers_agree(void **state)
{
    (void)state;
    for (int i = 0; i < CODEC_COUNT; i++) {
        enum codec codec;
        assert_true(codec_from_name(slice_str(codec_name((enum codec)i)), &codec));
        assert_int_equal(codec, i);
    }
    enum codec codec = CODEC_ZSTD;
    assert_false(codec_from_name(SLICE_LIT("producer"), &codec));
    assert_false(codec_from_name(SLICE_NULL, &codec));
    assert_int_equal(codec, CODEC_ZSTD);
    assert_string_equal(codec_name((enum codec)5), "unknown");
    assert_string_equal(codec_name(CODEC_LZ4), "lz4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
