/* Topic names; see topic_name.h. */
#include "meta/topic_name.h"

static bool is_legal(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

enum err topic_name_check(struct slice name, struct arena *arena, struct slice *ret_text)
{
    const char *why = NULL;
    if (name.size == 0)
        why = "the empty string is not allowed";
    else if (slice_eq_str(name, "."))
        why = "'.' is not allowed";
    else if (slice_eq_str(name, ".."))
        why = "'..' is not allowed";
    if (why) {
        *ret_text = arena_printf(arena, "Topic name is invalid: %s", why);
        return ERR_INVALID_TOPIC_EXCEPTION;
    }
    if (name.size > TOPIC_NAME_SIZE_MAX) {
        *ret_text = arena_printf(arena,
                                 "Topic name is invalid: the length of '%.*s' is longer than the "
                                 "max allowed length %d",
                                 SLICE_FMT(name), TOPIC_NAME_SIZE_MAX);
        return ERR_INVALID_TOPIC_EXCEPTION;
    }
    for (size_t i = 0; i < name.size; i++) {
        if (is_legal(name.data[i]))
            continue;
        *ret_text = arena_printf(arena,
                                 "Topic name is invalid: '%.*s' contains one or more characters "
                                 "other than ASCII alphanumerics, '.', '_' and '-'",
                                 SLICE_FMT(name));
        return ERR_INVALID_TOPIC_EXCEPTION;
    }
    return ERR_NONE;
}

bool topic_name_has_collision_chars(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == '.' || name.data[i] == '_')
            return true;
    return false;
}

struct slice topic_name_unified(struct slice name, struct arena *arena)
{
    uint8_t *text = arena_alloc(arena, name.size);
    for (size_t i = 0; i < name.size; i++)
        text[i] = name.data[i] == '.' ? '_' : name.data[i];
    return slice_of(text, name.size);
}

bool topic_name_is_internal(struct slice name)
{
    return slice_eq_str(name, "__consumer_offsets") || slice_eq_str(name, "__transaction_state") ||
           slice_eq_str(name, "__share_group_state");
}
