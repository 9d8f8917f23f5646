#include "base/err.h"

#include "../unit.h"

#include <string.h>

static void wire_codes_keep_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(ERR_UNKNOWN_SERVER_ERROR, -1);
    assert_int_equal(ERR_NONE, 0);
    assert_int_equal(ERR_INVALID_RECORD, 87);
    assert_string_equal(err_name(ERR_OFFSET_OUT_OF_RANGE), "OFFSET_OUT_OF_RANGE");
    assert_string_equal(err_name(ERR_CORRUPT), "CORRUPT");
}

static void local_errors_become_what_clients_understand(void **state)
{
    (void)state;
    assert_int_equal(err_to_wire(ERR_IO), 56);
    assert_int_equal(err_to_wire(ERR_CORRUPT), 2);
    assert_int_equal(err_to_wire(ERR_TOO_LARGE), -1);
    assert_int_equal(err_to_wire(ERR_NOT_COORDINATOR), 16);
    assert_int_equal(err_from_wire(16), ERR_NOT_COORDINATOR);
    assert_int_equal(err_from_wire(9999), ERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(err_from_wire(10000), ERR_UNKNOWN_SERVER_ERROR);
}

static void operators_read_words(void **state)
{
    (void)state;
    for (int e = ERR_IO; e <= ERR_OUT_OF_SPACE_IN_INDEX; e++) {
        const char *text = err_text((enum err)e);
        assert_non_null(strchr(text, ' '));
        assert_null(strchr(text, '_'));
    }
    assert_string_equal(err_text(ERR_DISK_FULL), "the disk is full");
    assert_string_equal(err_text(ERR_OFFSET_OUT_OF_RANGE), "OFFSET_OUT_OF_RANGE");
    assert_string_equal(err_text((enum err)9999), "an unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wire_codes_keep_their_numbers),
        cmocka_unit_test(operators_read_words),
        cmocka_unit_test(local_errors_become_what_clients_understand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
