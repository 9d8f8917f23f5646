/* Sentences made from the tables of keys, so that they cannot differ from what is checked. */
#include "conf/documentation.h"

#include "base/buf.h"

static const char *type_text(enum conf_type type)
{
    switch (type) {
    case CONF_BOOLEAN: return "True or false";
    case CONF_STRING: return "A text";
    case CONF_INT:
    case CONF_SHORT:
    case CONF_LONG: return "A whole number";
    case CONF_DOUBLE: return "A number";
    case CONF_LIST: return "A list, separated by commas";
    case CONF_CLASS: return "The name of a class";
    case CONF_PASSWORD: return "A secret, never shown";
    }
    return "A value";
}

static void put_range(struct buf *out, const struct conf_valid *valid, bool is_double)
{
    if (is_double && valid->has_min)
        buf_printf(out, " of at least %g", valid->min);
    if (is_double && valid->has_max)
        buf_printf(out, " of at most %g", valid->max);
    if (is_double)
        return;
    if (valid->has_min && valid->has_max)
        buf_printf(out, " from %lld to %lld", (long long)valid->min_i, (long long)valid->max_i);
    else if (valid->has_min)
        buf_printf(out, " of at least %lld", (long long)valid->min_i);
    else if (valid->has_max)
        buf_printf(out, " of at most %lld", (long long)valid->max_i);
    if (valid->has_or)
        buf_printf(out, ", or %lld", (long long)valid->or_value);
}

static void put_words(struct buf *out, const struct conf_valid *valid)
{
    if (!valid->words)
        return;
    buf_put_str(out, valid->kind == CONF_VALID_LIST ? " of: " : ", one of: ");
    for (size_t i = 0; valid->words[i]; i++)
        buf_printf(out, "%s%s", i ? ", " : "", valid->words[i]);
}

static void put_default(struct buf *out, const struct conf_key *key)
{
    if (key->required)
        buf_put_str(out, " It must be set.");
    else if (!key->default_text)
        buf_put_str(out, " Without a default.");
    else if (!key->default_text[0])
        buf_put_str(out, " By default empty.");
    else
        buf_printf(out, " By default %s.", key->default_text);
}

static void put_fallbacks(struct buf *out, enum conf_kind kind, const struct conf_key *key)
{
    if (!key->fallbacks || key->fallbacks[0] < 0)
        return;
    buf_printf(out, " Where it is not set, %s", kind == CONF_KIND_BROKER ? "" : "the broker's ");
    for (int i = 0; key->fallbacks[i] >= 0; i++)
        buf_printf(out, "%s%s", i ? ", then " : "",
                   conf_key(CONF_KIND_BROKER, key->fallbacks[i])->name);
    buf_put_str(out, key->fallbacks[1] < 0 ? " decides." : " decide.");
}

static void put_update(struct buf *out, enum conf_update update)
{
    switch (update) {
    case CONF_READ_ONLY: buf_put_str(out, " Read at the start."); break;
    case CONF_PER_BROKER: buf_put_str(out, " May be changed for a running broker."); break;
    case CONF_CLUSTER_WIDE:
        buf_put_str(out, " May be changed for a running broker, or for all.");
        break;
    }
}

struct slice documentation_of(enum conf_kind kind, struct slice name, struct arena *arena)
{
    int id = conf_find(kind, name);
    if (id < 0)
        return SLICE_NULL;
    const struct conf_key *key = conf_key(kind, id);
    struct buf out;
    buf_init(&out);
    buf_put_str(&out, type_text(key->type));
    if (key->valid.kind == CONF_VALID_RANGE)
        put_range(&out, &key->valid, key->type == CONF_DOUBLE);
    put_words(&out, &key->valid);
    buf_put_str(&out, ".");
    put_default(&out, key);
    put_fallbacks(&out, kind, key);
    if (kind == CONF_KIND_BROKER)
        put_update(&out, key->update);
    struct slice text = arena_dup(arena, buf_slice(&out));
    buf_fini(&out);
    return text;
}
