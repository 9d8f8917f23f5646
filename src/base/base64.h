/* Standard base64 with padding (RFC 4648), as Kafka prints bytes in JSON and SCRAM carries them. */
#ifndef KLAMM_BASE_BASE64_H
#define KLAMM_BASE_BASE64_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends the text of these bytes; nothing for null or empty. */
void base64_put(struct buf *out, struct slice bytes);

/* The bytes of a text, from `a` (never null). False when a character is not of the alphabet, the
 * padding is wrong or missing, unused bits are set, or the arena refuses. */
bool base64_parse(struct slice text, struct arena *a, struct slice *ret_bytes);
/* As Kafka's tools read what a person wrote: the padding may be missing as a whole, and bits that
 * belong to no byte are ignored. */
bool base64_parse_loose(struct slice text, struct arena *a, struct slice *ret_bytes);

#endif
