/* The seam to libcrypto; see digest.h. Its functions are looked up by name once and kept, with the
 * types its own headers give them. The shared object is the one whose headers this was compiled
 * with (its major version is part of its name); it stays loaded until the process ends, as OpenSSL
 * asks for. */
#include "os/digest.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/opensslv.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)

struct digest {
    const EVP_MD *md;
    size_t size;
};

static struct {
    void *library;
    __typeof__(&EVP_sha256) sha256;
    __typeof__(&EVP_sha512) sha512;
    __typeof__(&EVP_Digest) hash;
    __typeof__(&HMAC) hmac;
    __typeof__(&PKCS5_PBKDF2_HMAC) pbkdf2;
} crypto;

static bool look_up(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load(char **ret_why)
{
    if (crypto.library)
        return true;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library || !look_up(library, "EVP_sha256", &crypto.sha256) ||
        !look_up(library, "EVP_sha512", &crypto.sha512) ||
        !look_up(library, "EVP_Digest", &crypto.hash) || !look_up(library, "HMAC", &crypto.hmac) ||
        !look_up(library, "PKCS5_PBKDF2_HMAC", &crypto.pbkdf2)) {
        *ret_why = mem_printf("OpenSSL's %s is needed for credentials and cannot be used (%s). "
                              "Install it (package libssl%s).",
                              LIBRARY, dlerror(), TEXT(OPENSSL_SHLIB_VERSION));
        return false;
    }
    crypto.library = library;
    return true;
}

enum err digest_new(enum digest_kind kind, struct digest **ret_digest, char **ret_why)
{
    if (!load(ret_why))
        return ERR_NOT_FOUND;
    struct digest *digest = mem_zalloc(sizeof *digest);
    digest->md = kind == DIGEST_SHA256 ? crypto.sha256() : crypto.sha512();
    digest->size = kind == DIGEST_SHA256 ? 32 : 64;
    *ret_digest = digest;
    return ERR_NONE;
}

void digest_free(struct digest *digest)
{
    mem_free(digest);
}

size_t digest_size(const struct digest *digest)
{
    return digest->size;
}

bool digest_hash(const struct digest *digest, struct slice bytes, uint8_t *ret_bytes)
{
    return crypto.hash(bytes.data, bytes.size, ret_bytes, NULL, digest->md, NULL) == 1;
}

bool digest_hmac(const struct digest *digest, struct slice key, struct slice bytes,
                 uint8_t *ret_bytes)
{
    /* Without a key OpenSSL would go on with that of an earlier call. */
    if (key.size == 0 || key.size > INT_MAX)
        return false;
    return crypto.hmac(digest->md, key.data, (int)key.size, bytes.data, bytes.size, ret_bytes,
                       NULL) != NULL;
}

bool digest_pbkdf2(const struct digest *digest, struct slice password, struct slice salt,
                   int iterations, uint8_t *ret_bytes)
{
    if (password.size == 0 || password.size > INT_MAX || salt.size > INT_MAX || iterations < 1)
        return false;
    return crypto.pbkdf2((const char *)password.data, (int)password.size, salt.data, (int)salt.size,
                         iterations, digest->md, (int)digest->size, ret_bytes) == 1;
}

void digest_wipe(void *bytes, size_t size)
{
    if (size > 0) /* nothing was read: there may be no memory at all */
        explicit_bzero(bytes, size);
}
