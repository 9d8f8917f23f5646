/* See uuid.h. Pure. */
#include "base/uuid.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool uuid_eq(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool uuid_is_zero(const struct uuid *u)
{
    return uuid_eq(u, &UUID_ZERO);
}

char *uuid_format(const struct uuid *u, char text[UUID_TEXT_SIZE + 1])
{
    uint32_t bits = 0, count = 0;
    size_t n = 0;
    for (size_t i = 0; i < 16; i++) {
        bits = bits << 8 | u->bytes[i];
        for (count += 8; count >= 6; count -= 6)
            text[n++] = alphabet[bits >> (count - 6) & 63];
    }
    text[n++] = alphabet[bits << (6 - count) & 63];
    text[n] = 0;
    return text;
}

bool uuid_parse(struct slice text, struct uuid *ret_uuid)
{
    if (text.size == 24 && text.data[22] == '=' && text.data[23] == '=')
        text.size = 22;
    if (text.size != UUID_TEXT_SIZE)
        return false;
    struct uuid u;
    uint32_t bits = 0, count = 0;
    size_t n = 0;
    for (size_t i = 0; i < UUID_TEXT_SIZE; i++) {
        const char *at = text.data[i] ? strchr(alphabet, text.data[i]) : NULL;
        if (!at)
            return false;
        bits = bits << 6 | (uint32_t)(at - alphabet);
        count += 6;
        if (count >= 8 && n < 16) {
            count -= 8;
            u.bytes[n++] = (uint8_t)(bits >> count);
        }
    }
    *ret_uuid = u;
    return true;
}

bool uuid_from_random(const uint8_t random[16], struct uuid *ret_uuid)
{
    struct uuid u;
    memcpy(u.bytes, random, 16);
    u.bytes[6] = (uint8_t)((u.bytes[6] & 0x0f) | 0x40);
    u.bytes[8] = (uint8_t)((u.bytes[8] & 0x3f) | 0x80);
    char text[UUID_TEXT_SIZE + 1];
    if (uuid_format(&u, text)[0] == '-')
        return false;
    *ret_uuid = u;
    return true;
}
