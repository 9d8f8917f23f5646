/* Shortest digits are found by asking for more of them until they read back the same: at most 17
 * tries, for numbers that are printed rarely (quotas, metrics). Pure; any thread. */
#include "base/double.h"

#include <stdio.h>
#include <stdlib.h>

enum { DIGITS_MAX = 17, EXPONENT_MIN = -3, EXPONENT_MAX = 7 };

/* The digits and the decimal exponent of the first one; returns how many digits. */
static int shortest_digits(double value, char digits[DIGITS_MAX], int *ret_exponent)
{
    char text[40];
    int precision = 1; /* never one digit, even where one would do: Java's 4.9E-324 */
    do
        snprintf(text, sizeof text, "%.*e", precision, value);
    while (strtod(text, NULL) != value && ++precision < DIGITS_MAX);
    int count = 0;
    const char *p = text;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            digits[count++] = *p;
    if (count == 2 && digits[1] == '0')
        count = 1;
    int64_t exponent = 0;
    slice_to_i64(slice_str(p[1] == '+' ? p + 2 : p + 1), -400, 400, &exponent);
    *ret_exponent = (int)exponent;
    return count;
}

void double_put(struct buf *out, double value)
{
    if (value != value || value - value != 0) {
        buf_put_str(out, value != value ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char digits[DIGITS_MAX] = {0};
    int exponent;
    int count = shortest_digits(value, digits, &exponent);
    if (__builtin_signbit(value))
        buf_put_str(out, "-");
    if (value != 0 && (exponent < EXPONENT_MIN || exponent >= EXPONENT_MAX)) {
        buf_printf(out, "%c.%.*sE%d", digits[0], count > 1 ? count - 1 : 1,
                   count > 1 ? digits + 1 : "0", exponent);
    } else if (exponent < 0) {
        buf_printf(out, "0.%.*s%.*s", -exponent - 1, "00", count, digits);
    } else {
        for (int i = 0; i <= exponent; i++)
            buf_put(out, i < count ? &digits[i] : "0", 1);
        int after = count > exponent + 1 ? count - exponent - 1 : 0;
        buf_printf(out, ".%.*s", after ? after : 1, after ? digits + exponent + 1 : "0");
    }
}
