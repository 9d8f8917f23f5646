/* Three bytes to four characters and back. Decoding is strict where it is not asked to be
 * loose: one text for each byte string, so that what is compared as text agrees with what is
 * compared as bytes. Pure; any thread. */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buf *out, struct slice bytes)
{
    for (size_t at = 0; at < bytes.size; at += 3) {
        size_t left = bytes.size - at;
        uint32_t group = (uint32_t)bytes.data[at] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[at + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[at + 2] : 0;
        char text[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                        left > 1 ? alphabet[group >> 6 & 63] : '=',
                        left > 2 ? alphabet[group & 63] : '='};
        buf_put(out, text, sizeof text);
    }
}

static int digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool parse(struct slice text, bool loose, struct arena *a, struct slice *ret_bytes)
{
    size_t pads = 0;
    if (text.size % 4 == 0)
        while (pads < 2 && pads < text.size && text.data[text.size - 1 - pads] == '=')
            pads++;
    else if (!loose || text.size % 4 == 1)
        return false;
    size_t digits = text.size - pads, done = 0;
    size_t size = digits / 4 * 3 + (digits % 4 ? digits % 4 - 1 : 0);
    uint8_t *bytes = arena_try_alloc(a, size ? size : 1);
    if (!bytes)
        return false;
    uint32_t group = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = digit(text.data[i]);
        if (value < 0)
            return false;
        group = group << 6 | (uint32_t)value;
        if (i % 4 > 0)
            bytes[done++] = (uint8_t)(group >> (6 - 2 * (i % 4)));
    }
    /* The last character of a padded text carries 4 or 2 bits that belong to no byte. */
    if (!loose && pads && group & ((1u << (2 * pads)) - 1))
        return false;
    *ret_bytes = slice_of(bytes, size);
    return true;
}

bool base64_parse(struct slice text, struct arena *a, struct slice *ret_bytes)
{
    return parse(text, false, a, ret_bytes);
}

bool base64_parse_loose(struct slice text, struct arena *a, struct slice *ret_bytes)
{
    return parse(text, true, a, ret_bytes);
}
