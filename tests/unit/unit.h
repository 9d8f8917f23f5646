/* What every unit test includes: cmocka with its prerequisites, and the closing RUN macro. */
#ifndef KLAMM_TESTS_UNIT_H
#define KLAMM_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_slice_eq(slice, text)                             \
    do {                                                         \
        assert_int_equal((slice).size, strlen(text));            \
        assert_memory_equal((slice).data, (text), strlen(text)); \
    } while (0)

#endif
