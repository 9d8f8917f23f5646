/* Hashes, HMAC and PBKDF2 with SHA-256 and SHA-512, by OpenSSL's libcrypto.
 *
 * The library is loaded by the first digest_new(), not with the program: a node that needs no
 * credentials starts faster and stays smaller without it. Any thread, but the first digest_new()
 * must have returned before another thread calls it. */
#ifndef KLAMM_OS_DIGEST_H
#define KLAMM_OS_DIGEST_H

#include "base/err.h"
#include "base/slice.h"

#include <stddef.h>

enum digest_kind { DIGEST_SHA256, DIGEST_SHA512 };

enum { DIGEST_SIZE_MAX = 64 };

struct digest;

/* ERR_NOT_FOUND: libcrypto is not installed; *ret_why says so (mem_free it). */
enum err digest_new(enum digest_kind kind, struct digest **ret_digest, char **ret_why);
void digest_free(struct digest *digest); /* accepts NULL */
size_t digest_size(const struct digest *digest);

/* Each writes digest_size() bytes. False when libcrypto refuses: no memory, an iteration count
 * below 1, an empty key, or a policy of this machine that forbids the hash. */
bool digest_hash(const struct digest *digest, struct slice bytes, uint8_t *ret_bytes);
bool digest_hmac(const struct digest *digest, struct slice key, struct slice bytes,
                 uint8_t *ret_bytes);
bool digest_pbkdf2(const struct digest *digest, struct slice password, struct slice salt,
                   int iterations, uint8_t *ret_bytes);

/* Zeroes a secret; never optimised away. */
void digest_wipe(void *bytes, size_t size);

#endif
