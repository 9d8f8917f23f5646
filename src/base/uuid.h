/* 16-byte ids; text form is 22 characters of unpadded base64url, as Kafka prints them. */
#ifndef KLAMM_BASE_UUID_H
#define KLAMM_BASE_UUID_H

#include "base/slice.h"

struct uuid {
    uint8_t bytes[16];
};

enum { UUID_TEXT_SIZE = 22 };

#define UUID_ZERO ((struct uuid){{0}})
/* The topic id of __cluster_metadata ("AAAAAAAAAAAAAAAAAAAAAQ"). */
#define UUID_METADATA_TOPIC ((struct uuid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}})

bool uuid_eq(const struct uuid *a, const struct uuid *b);
bool uuid_is_zero(const struct uuid *u);
/* Writes 22 characters and a NUL. Returns `text`. */
char *uuid_format(const struct uuid *u, char text[UUID_TEXT_SIZE + 1]);
/* Accepts 22 characters (24 with padding "=="); false otherwise. */
bool uuid_parse(struct slice text, struct uuid *ret_uuid);
/* Makes 16 random bytes into a version 4 UUID; false when Kafka would not hand it out (reserved,
 * or its text begins with '-'): draw again. */
bool uuid_from_random(const uint8_t random[16], struct uuid *ret_uuid);

#endif
