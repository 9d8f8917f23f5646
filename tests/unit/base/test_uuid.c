#include "base/uuid.h"

#include "../unit.h"

static void metadata_topic_prints_as_kafka_does(void **state)
{
    (void)state;
    char text[UUID_TEXT_SIZE + 1];
    struct uuid u = UUID_METADATA_TOPIC, back;
    assert_string_equal(uuid_format(&u, text), "AAAAAAAAAAAAAAAAAAAAAQ");
    assert_true(uuid_parse(slice_str(text), &back));
    assert_true(uuid_eq(&u, &back));
}

static void every_text_reads_back(void **state)
{
    (void)state;
    char text[UUID_TEXT_SIZE + 1];
    for (unsigned seed = 1; seed < 200; seed++) {
        struct uuid u, back;
        for (unsigned i = 0; i < 16; i++)
            u.bytes[i] = (uint8_t)(seed * (i + 3) * 97);
        assert_true(uuid_parse(slice_str(uuid_format(&u, text)), &back));
        assert_true(uuid_eq(&u, &back));
    }
    struct uuid keep = UUID_ZERO;
    assert_false(uuid_parse(SLICE_LIT("AAAAAAAAAAAAAAAAAAAAA"), &keep));
    assert_false(uuid_parse(SLICE_LIT("AAAAAAAAAAAAAAAAAAAA+Q"), &keep));
    assert_true(uuid_is_zero(&keep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_topic_prints_as_kafka_does),
        cmocka_unit_test(every_text_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
