/* `klamm storage format --add-scram`: the credentials of users in the bootstrap snapshot, for a
 * cluster whose first login needs one; see storage_internal.h. An argument is
 *   SCRAM-SHA-256=[name=alice,iterations=8192,salt="base64",password=secret]
 * or with saltedpassword="base64" (and salt) in the place of password. Rules, order of the checks
 * and texts are those of Kafka's tool, but where its text would hold what may be a password or a
 * piece of one: a comma ends a password, so what follows it is never shown. */
#include "base/arena.h"
#include "base/base64.h"
#include "base/mem.h"
#include "cli/storage_internal.h"
#include "meta/features.h"
#include "meta/records.h"
#include "os/digest.h"
#include "wire_metadata_records.h"

#include <stdio.h>

enum {
    ITERATIONS_DEFAULT = 4096,
    SALT_SIZE = 20, /* of a salt that is not given */
    NAME_SIZE_MAX = 32767,
    UNKNOWN_MAX = 32,
};

static const struct mechanism {
    const char *name, *constant; /* the second is how Kafka's messages call it */
    enum digest_kind digest;
    int8_t type; /* in the record */
    int32_t iterations_min, iterations_max;
} mechanisms[] = {
    {"SCRAM-SHA-256", "SCRAM_SHA_256", DIGEST_SHA256, 1, 4096, 16384},
    {"SCRAM-SHA-512", "SCRAM_SHA_512", DIGEST_SHA512, 2, 4096, 16384},
};

/* The components of one argument: views into it, null where not given. */
struct credential {
    const struct mechanism *mechanism;
    struct slice name, salt, iterations, password, saltedpassword;
    struct slice unknown[UNKNOWN_MAX]; /* their names, sorted */
    int unknown_count;
    bool unknown_hidden; /* there are more, after a password */
};

static bool say(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return false;
}

/* ---- the text ---------------------------------------------------------------------------------
 */

static bool unsupported(struct slice name)
{
    static const struct slice family = SLICE_LIT("scram-");
    if (name.size > family.size && name.size < 32 &&
        slice_eq_nocase(slice_sub(name, 0, family.size), family))
        fprintf(stderr, "The add-scram mechanism %.*s is not supported.\n", SLICE_FMT(name));
    else /* Whatever this is, it could be a password. */
        fprintf(stderr, "The add-scram mechanism (not shown) is not supported; it must be "
                        "SCRAM-SHA-256 or SCRAM-SHA-512.\n");
    return false;
}

static bool parse_mechanism(struct slice text, struct credential *c, struct slice *ret_components)
{
    struct slice name, rest;
    text = slice_trim(text);
    if (!slice_cut(text, '=', &name, &rest))
        return say("Failed to find equals sign in SCRAM argument (not shown: it may hold a "
                   "password); it must be like SCRAM-SHA-256=[name=alice,password=...]");
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++)
        if (slice_eq_str(name, mechanisms[i].name))
            c->mechanism = &mechanisms[i];
    if (!c->mechanism)
        return unsupported(name);
    if (rest.size == 0 || rest.data[0] != '[')
        return say("Expected configuration string to start with [");
    if (rest.data[rest.size - 1] != ']' || rest.size < 2)
        return say("Expected configuration string to end with ]");
    *ret_components = slice_sub(rest, 1, rest.size - 2);
    return true;
}

static void add_unknown(struct credential *c, struct slice name)
{
    if (!slice_is_null(c->password) || !slice_is_null(c->saltedpassword) ||
        c->unknown_count == UNKNOWN_MAX) {
        c->unknown_hidden = true;
        return;
    }
    int at = c->unknown_count;
    for (; at > 0 && slice_cmp(c->unknown[at - 1], name) > 0; at--)
        c->unknown[at] = c->unknown[at - 1];
    c->unknown[at] = name;
    c->unknown_count++;
}

static bool unknown_components(const struct credential *c)
{
    fprintf(stderr, "Unknown SCRAM configurations: ");
    for (int i = 0; i < c->unknown_count; i++)
        fprintf(stderr, "%s%.*s", i ? ", " : "", SLICE_FMT(c->unknown[i]));
    if (c->unknown_hidden)
        fprintf(stderr, "%swhat follows the password (not shown: a comma ends a password)",
                c->unknown_count ? ", " : "");
    fprintf(stderr, "\n");
    return false;
}

static bool parse_components(struct slice text, struct credential *c)
{
    bool empty = text.size == 0;
    while (text.size > 0 && text.data[text.size - 1] == ',')
        text.size--;
    if (!empty && text.size == 0)
        return true;
    struct slice one;
    for (int number = 1; slice_next_part(&text, ',', &one); number++) {
        struct slice name, value;
        if (!slice_cut(one, '=', &name, &value)) {
            if (one.size == 0)
                return say("No equals sign found in SCRAM component: ");
            fprintf(stderr,
                    "No equals sign found in SCRAM component %d (not shown: it may be part of a "
                    "password, which a comma ends)\n",
                    number);
            return false;
        }
        if (value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"')
            value = slice_sub(value, 1, value.size - 2);
        if (slice_eq_str(name, "name"))
            c->name = value;
        else if (slice_eq_str(name, "salt"))
            c->salt = value;
        else if (slice_eq_str(name, "iterations"))
            c->iterations = value;
        else if (slice_eq_str(name, "password"))
            c->password = value;
        else if (slice_eq_str(name, "saltedpassword"))
            c->saltedpassword = value;
        else
            add_unknown(c, name);
    }
    return true;
}

/* What the texts mean; `c` keeps the decoded salt and saltedpassword. */
static bool read_values(struct credential *c, struct arena *arena, int32_t *ret_iterations)
{
    int64_t iterations = ITERATIONS_DEFAULT;
    if (slice_is_null(c->name))
        return say("You must supply 'name' to add-scram");
    if (!slice_is_null(c->salt) && !base64_parse_loose(c->salt, arena, &c->salt)) {
        fprintf(stderr, "Failed to decode given salt: %.*s\n", SLICE_FMT(c->salt));
        return false;
    }
    if (!slice_is_null(c->iterations) &&
        !slice_to_i64(c->iterations, INT32_MIN, INT32_MAX, &iterations)) {
        fprintf(stderr, "Failed to parse iterations count: %.*s\n", SLICE_FMT(c->iterations));
        return false;
    }
    if (slice_is_null(c->password)) {
        if (slice_is_null(c->saltedpassword))
            return say("You must supply one of 'password' or 'saltedpassword' to add-scram");
        if (slice_is_null(c->salt))
            return say("You must supply 'salt' with 'saltedpassword' to add-scram");
        if (!base64_parse_loose(c->saltedpassword, arena, &c->saltedpassword))
            return say("Failed to decode given saltedPassword (not shown); it must be base64");
    }
    if (c->unknown_count > 0 || c->unknown_hidden)
        return unknown_components(c);
    if (iterations < c->mechanism->iterations_min || iterations > c->mechanism->iterations_max) {
        bool low = iterations < c->mechanism->iterations_min;
        fprintf(
            stderr, "The 'iterations' value must be %s %d for add-scram using %s\n",
            low ? ">=" : "<=", low ? c->mechanism->iterations_min : c->mechanism->iterations_max,
            c->mechanism->constant);
        return false;
    }
    if ((slice_is_null(c->password) ? c->saltedpassword : c->password).size == 0)
        return say("The password given to add-scram must not be empty");
    if (c->name.size > NAME_SIZE_MAX)
        return say("The 'name' given to add-scram is longer than 32767 bytes");
    *ret_iterations = (int32_t)iterations;
    return true;
}

/* ---- the record -------------------------------------------------------------------------------
 */

/* RFC 5802: StoredKey = H(HMAC(SaltedPassword, "Client Key")), ServerKey = HMAC(.., "Server Key").
 */
static bool derive(const struct digest *d, const struct credential *c, int32_t iterations,
                   uint8_t *ret_stored_key, uint8_t *ret_server_key)
{
    uint8_t salted[DIGEST_SIZE_MAX], client_key[DIGEST_SIZE_MAX];
    size_t size = digest_size(d);
    struct slice key = c->saltedpassword;
    bool ok = true;
    if (!slice_is_null(c->password)) {
        ok = digest_pbkdf2(d, c->password, c->salt, iterations, salted);
        key = slice_of(salted, size);
    }
    ok = ok && digest_hmac(d, key, SLICE_LIT("Client Key"), client_key) &&
         digest_hash(d, slice_of(client_key, size), ret_stored_key) &&
         digest_hmac(d, key, SLICE_LIT("Server Key"), ret_server_key);
    digest_wipe(salted, sizeof salted);
    digest_wipe(client_key, sizeof client_key);
    return ok;
}

static bool add_record(struct io *io, const struct credential *c, int32_t iterations,
                       struct meta_records *records)
{
    uint8_t salt[SALT_SIZE], stored_key[DIGEST_SIZE_MAX], server_key[DIGEST_SIZE_MAX];
    struct credential salted = *c;
    if (slice_is_null(c->salt)) {
        io_random(io, salt, sizeof salt);
        salted.salt = slice_of(salt, sizeof salt);
    }
    struct digest *digest = NULL;
    char *why = NULL;
    if (digest_new(c->mechanism->digest, &digest, &why) != ERR_NONE) {
        fprintf(stderr, "%s\n", why);
        mem_free(why);
        return false;
    }
    bool ok = derive(digest, &salted, iterations, stored_key, server_key);
    if (ok) {
        struct user_scram_credential_record record;
        wire_init(&wire_user_scram_credential_record, &record);
        record.name = c->name;
        record.mechanism = c->mechanism->type;
        record.salt = salted.salt;
        record.stored_key = slice_of(stored_key, digest_size(digest));
        record.server_key = slice_of(server_key, digest_size(digest));
        record.iterations = iterations;
        meta_records_add(records, &wire_user_scram_credential_record, 0, &record);
    } else {
        fprintf(stderr, "OpenSSL on this machine refuses to compute %s credentials.\n",
                c->mechanism->name);
    }
    digest_free(digest);
    return ok;
}

bool storage_add_scram(struct io *io, const struct storage_args *args,
                       const struct meta_version *version, struct meta_records *records)
{
    if (args->scram.count > 0 && !(version->flags & META_HAS_SCRAM))
        return say("SCRAM is only supported in metadata.version 3.5-IV2 or later.");
    bool ok = true;
    for (int i = 0; i < args->scram.count && ok; i++) {
        struct credential credential = {.mechanism = NULL};
        struct slice components;
        int32_t iterations;
        struct arena arena;
        arena_init(&arena);
        ok = parse_mechanism(slice_str(args->scram.items[i]), &credential, &components) &&
             parse_components(components, &credential) &&
             read_values(&credential, &arena, &iterations) &&
             add_record(io, &credential, iterations, records);
        arena_fini(&arena);
    }
    return ok;
}
