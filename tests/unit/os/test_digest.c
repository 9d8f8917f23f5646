#include "../unit.h"

#include "base/mem.h"
#include "os/digest.h"

#include <link.h>
#include <stdio.h>

static struct digest *open_digest(enum digest_kind kind)
{
    struct digest *digest = NULL;
    char *why = NULL;
    assert_int_equal(digest_new(kind, &digest, &why), ERR_NONE);
    return digest;
}

static void assert_hex(const uint8_t *bytes, size_t size, const char *hex)
{
    char text[2 * DIGEST_SIZE_MAX + 1];
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    assert_string_equal(text, hex);
}

static int is_crypto(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    *(bool *)found = *(bool *)found || strstr(info->dlpi_name, "libcrypto");
    return 0;
}

/* Start-up time and idle memory of a node are measured without it. */
static void is_loaded_when_first_used(void **state)
{
    (void)state;
    bool found = false;
    dl_iterate_phdr(is_crypto, &found);
    assert_false(found);
    digest_free(open_digest(DIGEST_SHA256));
    dl_iterate_phdr(is_crypto, &found);
    assert_true(found);
}

/* FIPS 180-4's examples, RFC 4231 case 2. */
static void known_hashes(void **state)
{
    (void)state;
    uint8_t out[DIGEST_SIZE_MAX];
    struct digest *d = open_digest(DIGEST_SHA256);
    assert_int_equal(digest_size(d), 32);
    assert_true(digest_hash(d, SLICE_LIT("abc"), out));
    assert_hex(out, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(digest_hmac(d, SLICE_LIT("Jefe"), SLICE_LIT("what do ya want for nothing?"), out));
    assert_hex(out, 32, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    digest_free(d);
    d = open_digest(DIGEST_SHA512);
    assert_int_equal(digest_size(d), 64);
    assert_true(digest_hmac(d, SLICE_LIT("Jefe"), SLICE_LIT("what do ya want for nothing?"), out));
    assert_hex(out, 64,
               "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
               "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
    digest_free(d);
}

/* PBKDF2 of "password", "salt", 4096 with HMAC-SHA-256; what it refuses. */
static void known_keys(void **state)
{
    (void)state;
    uint8_t out[DIGEST_SIZE_MAX];
    struct digest *d = open_digest(DIGEST_SHA256);
    assert_true(digest_pbkdf2(d, SLICE_LIT("password"), SLICE_LIT("salt"), 4096, out));
    assert_hex(out, 32, "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a");
    assert_true(digest_pbkdf2(d, SLICE_LIT("password"), SLICE_LIT(""), 1, out));
    assert_false(digest_pbkdf2(d, SLICE_LIT(""), SLICE_LIT("salt"), 4096, out));
    assert_false(digest_pbkdf2(d, SLICE_LIT("password"), SLICE_LIT("salt"), 0, out));
    assert_false(digest_hmac(d, SLICE_LIT(""), SLICE_LIT("text"), out));
    digest_wipe(out, sizeof out);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 0);
    digest_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_loaded_when_first_used),
        cmocka_unit_test(known_hashes),
        cmocka_unit_test(known_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
