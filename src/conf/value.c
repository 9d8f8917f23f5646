/* Typed configuration values: Java's rules of parsing, Kafka's validators and their sentences.
 *
 * Numbers follow Integer/Long/Short.parse and Double.parseDouble (sign '+', hexadecimal doubles, a
 * trailing f or d), text is trimmed as String.trim does. Messages name key and value and say what
 * is allowed, in the words that Kafka's clients and tools show (compared with a 4.4.0 node, see
 * tests/unit/conf/test_value.c). Pure; called by config, dynamic and topic_config. */
#include "conf/value.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/double.h"
#include "base/map.h"

static const char *const type_names[] = {
    [CONF_BOOLEAN] = "BOOLEAN", [CONF_STRING] = "STRING", [CONF_INT] = "INT",
    [CONF_SHORT] = "SHORT",     [CONF_LONG] = "LONG",     [CONF_DOUBLE] = "DOUBLE",
    [CONF_LIST] = "LIST",       [CONF_CLASS] = "CLASS",   [CONF_PASSWORD] = "PASSWORD",
};

/* String.trim: everything up to U+0020 goes. */
static struct slice java_trim(struct slice s)
{
    while (s.size > 0 && s.data[0] <= ' ') {
        s.data++;
        s.size--;
    }
    while (s.size > 0 && s.data[s.size - 1] <= ' ')
        s.size--;
    return s;
}

static enum err refuse(const struct conf_key *key, struct slice value, struct arena *arena,
                       const char *why, struct slice *ret_message)
{
    *ret_message = arena_printf(arena, "Invalid value %.*s for configuration %s: %s",
                                SLICE_FMT(value.data ? value : SLICE_LIT("null")), key->name, why);
    return ERR_INVALID_CONFIG;
}

static const char *printed(struct arena *arena, struct slice s)
{
    return arena_cstr(arena, s);
}

/* --- parsing ------------------------------------------------------------------------------------
 */

static bool parse_integer(enum conf_type type, struct slice text, int64_t *ret_value)
{
    int64_t min = INT64_MIN, max = INT64_MAX;
    if (type == CONF_INT) {
        min = INT32_MIN;
        max = INT32_MAX;
    } else if (type == CONF_SHORT) {
        min = INT16_MIN;
        max = INT16_MAX;
    }
    return slice_to_i64(text, min, max, ret_value);
}

static bool is_digit(uint8_t c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* [digits][.digits] with one digit at least. */
static size_t take_digits(struct slice s, size_t at, bool hex, bool *ret_any)
{
    bool any = false, point = false;
    for (; at < s.size; at++) {
        if (is_digit(s.data[at], hex))
            any = true;
        else if (s.data[at] == '.' && !point)
            point = true;
        else
            break;
    }
    *ret_any = any;
    return at;
}

/* Double.parseDouble, whose grammar is narrower than strtod's ("inf", "nan(1)" are not numbers). */
static bool parse_double(struct slice s, struct arena *arena, double *ret_value)
{
    size_t at = s.size > 0 && (s.data[0] == '+' || s.data[0] == '-') ? 1 : 0;
    bool negative = at && s.data[0] == '-';
    struct slice rest = slice_sub(s, at, s.size - at);
    if (slice_eq_str(rest, "NaN")) {
        *ret_value = NAN;
        return true;
    }
    if (slice_eq_str(rest, "Infinity")) {
        *ret_value = negative ? -HUGE_VAL : HUGE_VAL;
        return true;
    }
    bool hex = rest.size > 2 && rest.data[0] == '0' && (rest.data[1] | 0x20) == 'x';
    bool any;
    at = take_digits(rest, hex ? 2 : 0, hex, &any);
    if (!any)
        return false;
    bool exponent = at < rest.size && (rest.data[at] | 0x20) == (hex ? 'p' : 'e');
    if (hex && !exponent)
        return false;
    if (exponent) {
        at++;
        if (at < rest.size && (rest.data[at] == '+' || rest.data[at] == '-'))
            at++;
        size_t from = at;
        while (at < rest.size && is_digit(rest.data[at], false))
            at++;
        if (at == from)
            return false;
    }
    size_t number = at;
    if (at < rest.size && ((rest.data[at] | 0x20) == 'f' || (rest.data[at] | 0x20) == 'd'))
        at++;
    if (at != rest.size)
        return false;
    double value = strtod(arena_cstr(arena, slice_sub(rest, 0, number)), NULL);
    *ret_value = negative ? -value : value;
    return true;
}

/* Splits at ',' with blanks around it. An empty text is the empty list. */
static void parse_list(struct slice text, struct arena *arena, struct conf_list *ret_list)
{
    if (text.size == 0) {
        *ret_list = (struct conf_list){NULL, 0};
        return;
    }
    int32_t count = 1;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == ',';
    struct slice *items = arena_array(arena, (size_t)count, sizeof(*items));
    struct slice item;
    for (int32_t i = 0; slice_next_part(&text, ',', &item); i++)
        items[i] = java_trim(item);
    *ret_list = (struct conf_list){items, count};
}

bool conf_list_has(struct conf_list list, struct slice item)
{
    for (int32_t i = 0; i < list.count; i++)
        if (slice_eq(list.items[i], item))
            return true;
    return false;
}

/* Kafka keeps the first of equal items (and warns). A value may have thousands. */
static void list_make_distinct(struct conf_list *list, struct arena *arena)
{
    struct slice *items = arena_array(arena, (size_t)list->count + 1, sizeof(*items));
    int32_t count = 0;
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < list->count; i++)
        if (!map_put(&seen, list->items[i], &seen))
            items[count++] = list->items[i];
    map_fini(&seen);
    *list = (struct conf_list){items, count};
}

enum err conf_value_check_repeats(const struct conf_key *key, struct slice text,
                                  struct arena *arena, struct slice *ret_message)
{
    if (key->valid.kind != CONF_VALID_LIST || !key->valid.list_distinct)
        return ERR_NONE;
    struct conf_list list;
    parse_list(java_trim(text), arena, &list);
    int32_t count = list.count;
    list_make_distinct(&list, arena);
    if (list.count == count)
        return ERR_NONE;
    *ret_message =
        arena_printf(arena, "Configuration '%s' values must not be duplicated.", key->name);
    return ERR_INVALID_CONFIG;
}

/* --- validators ---------------------------------------------------------------------------------
 */

static struct slice words_text(const char *const *words, bool upper, struct arena *arena)
{
    struct buf b;
    buf_init(&b);
    for (int i = 0; words[i]; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", words[i]);
    struct slice text = arena_dup(arena, buf_slice(&b));
    for (size_t i = 0; upper && i < text.size; i++)
        if (text.data[i] >= 'a' && text.data[i] <= 'z')
            ((uint8_t *)(uintptr_t)text.data)[i] = (uint8_t)(text.data[i] - 32);
    buf_fini(&b);
    return text;
}

static bool is_word(const char *const *words, struct slice text, bool nocase)
{
    for (int i = 0; words[i]; i++)
        if (nocase ? slice_eq_nocase(text, slice_str(words[i])) : slice_eq_str(text, words[i]))
            return true;
    return false;
}

static enum err check_words(const struct conf_key *key, struct slice text, bool nocase,
                            struct arena *arena, struct slice *ret_message)
{
    const char *const *words = key->valid.words;
    if (text.data && is_word(words, text, nocase))
        return ERR_NONE;
    struct slice allowed = words_text(words, nocase, arena);
    struct slice why = arena_printf(arena, "String must be one of%s: %.*s",
                                    nocase ? " (case insensitive)" : "", SLICE_FMT(allowed));
    return refuse(key, text, arena, printed(arena, why), ret_message);
}

static enum err check_range(const struct conf_key *key, const struct conf_value *value,
                            struct arena *arena, struct slice *ret_message)
{
    const struct conf_valid *valid = &key->valid;
    if (value->is_null)
        return refuse(key, SLICE_NULL, arena, "Value must be non-null", ret_message);
    struct slice shown = conf_value_format(key, value, arena);
    bool below, above;
    struct slice min, max;
    if (key->type == CONF_DOUBLE) {
        below = valid->has_min && value->real < valid->min;
        above = valid->has_max && value->real > valid->max;
        min = arena_printf(arena, "%g", valid->min);
        max = arena_printf(arena, "%g", valid->max);
    } else {
        below = valid->has_min && value->integer < valid->min_i;
        above = valid->has_max && value->integer > valid->max_i;
        min = arena_printf(arena, "%lld", (long long)valid->min_i);
        max = arena_printf(arena, "%lld", (long long)valid->max_i);
    }
    if (!below && !above)
        return ERR_NONE;
    struct slice why;
    if (valid->has_or) {
        if (value->integer == valid->or_value)
            return ERR_NONE;
        why = arena_printf(arena, "Value must be between %.*s and %.*s or equal to %lld",
                           SLICE_FMT(min), SLICE_FMT(max), (long long)valid->or_value);
    } else if (below) {
        why = arena_printf(arena, "Value must be at least %.*s", SLICE_FMT(min));
    } else {
        why = arena_printf(arena, "Value must be no more than %.*s", SLICE_FMT(max));
    }
    return refuse(key, shown, arena, printed(arena, why), ret_message);
}

static enum err check_list(const struct conf_key *key, struct conf_value *value,
                           struct arena *arena, struct slice *ret_message)
{
    const struct conf_valid *valid = &key->valid;
    if (value->is_null) {
        if (valid->list_null_ok)
            return ERR_NONE;
        *ret_message =
            arena_printf(arena, "Configuration '%s' values must not be null.", key->name);
        return ERR_INVALID_CONFIG;
    }
    if (valid->list_distinct)
        list_make_distinct(&value->list, arena);
    if (value->list.count == 0 && !valid->list_empty_ok) {
        struct slice any = valid->words ? words_text(valid->words, false, arena) : SLICE_NULL;
        *ret_message = arena_printf(
            arena, "Configuration '%s' must not be empty. Valid values include: %s%.*s%s",
            key->name, any.data ? "[" : "any non-empty value", SLICE_FMT(any), any.data ? "]" : "");
        return ERR_INVALID_CONFIG;
    }
    enum err error = ERR_NONE;
    for (int32_t i = 0; i < value->list.count && !error; i++) {
        if (value->list.items[i].size == 0) {
            *ret_message =
                arena_printf(arena, "Configuration '%s' values must not be empty.", key->name);
            error = ERR_INVALID_CONFIG;
        } else if (valid->words) {
            error = check_words(key, value->list.items[i], false, arena, ret_message);
        }
    }
    return error;
}

/* "*" alone, or partition:broker pairs. */
static enum err check_throttled(const struct conf_key *key, const struct conf_value *value,
                                struct arena *arena, struct slice *ret_message)
{
    const struct conf_list *list = &value->list;
    bool ok = true;
    for (int32_t i = 0; i < list->count; i++) {
        struct slice item = list->items[i];
        if (slice_eq_str(item, "*")) {
            ok = ok && list->count == 1;
            continue;
        }
        size_t colon = 0, digits = 0;
        while (colon < item.size && is_digit(item.data[colon], false))
            colon++;
        for (size_t j = colon + 1; j < item.size; j++)
            digits += is_digit(item.data[j], false);
        ok = ok && colon > 0 && colon < item.size && item.data[colon] == ':' && digits > 0 &&
             colon + 1 + digits == item.size;
    }
    if (ok)
        return ERR_NONE;
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < list->count; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "[", SLICE_FMT(list->items[i]));
    buf_put_str(&b, "]");
    struct slice why = arena_printf(arena,
                                    "%s must be the literal '*' or a list of replicas in the "
                                    "following format: [partitionId]:[brokerId],"
                                    "[partitionId]:[brokerId],...",
                                    key->name);
    enum err error =
        refuse(key, arena_dup(arena, buf_slice(&b)), arena, printed(arena, why), ret_message);
    buf_fini(&b);
    return error;
}

/* One "<number><unit>" part of an ISO 8601 duration; *at moves past it when it is there. */
static bool take_part(struct slice s, size_t *at, char unit, bool fraction)
{
    size_t i = *at;
    if (i < s.size && (s.data[i] == '+' || s.data[i] == '-')) {
        if (s.data[i] == '-')
            return false; /* a negative duration is refused anyway */
        i++;
    }
    size_t from = i;
    while (i < s.size && is_digit(s.data[i], false))
        i++;
    if (i == from)
        return false;
    if (fraction && i < s.size && (s.data[i] == '.' || s.data[i] == ',')) {
        size_t point = i++;
        while (i < s.size && i - point <= 9 && is_digit(s.data[i], false))
            i++;
    }
    if (i == s.size || (s.data[i] & 0xdf) != unit)
        return false;
    *at = i + 1;
    return true;
}

static bool is_duration(struct slice s)
{
    if (s.size < 2 || (s.data[0] & 0xdf) != 'P')
        return false;
    size_t at = 1;
    bool any = take_part(s, &at, 'D', false);
    if (at < s.size && (s.data[at] & 0xdf) == 'T') {
        at++;
        bool hours = take_part(s, &at, 'H', false);
        bool minutes = take_part(s, &at, 'M', false);
        bool seconds = take_part(s, &at, 'S', true);
        if (!hours && !minutes && !seconds)
            return false;
        any = true;
    }
    return any && at == s.size;
}

static enum err check_offset_reset(const struct conf_key *key, struct slice text,
                                   struct arena *arena, struct slice *ret_message)
{
    static const char by_duration[] = "by_duration:";
    size_t size = sizeof(by_duration) - 1;
    if (slice_eq_str(text, "latest") || slice_eq_str(text, "earliest"))
        return ERR_NONE;
    if (text.size > size && memcmp(text.data, by_duration, size) == 0 &&
        is_duration(slice_sub(text, size, text.size - size)))
        return ERR_NONE;
    struct slice why = arena_printf(arena,
                                    "Invalid value `%.*s` for configuration %s. The value must be "
                                    "either 'earliest', 'latest' or of the format "
                                    "'by_duration:<PnDTnHnMn.nS>'.",
                                    SLICE_FMT(text), key->name);
    return refuse(key, text, arena, printed(arena, why), ret_message);
}

static enum err check_value(const struct conf_key *key, struct conf_value *value,
                            struct arena *arena, struct slice *ret_message)
{
    struct slice text = value->is_null ? SLICE_NULL : value->text;
    switch (key->valid.kind) {
    case CONF_VALID_ANY: return ERR_NONE;
    case CONF_VALID_RANGE: return check_range(key, value, arena, ret_message);
    case CONF_VALID_ENUM: return check_words(key, text, false, arena, ret_message);
    case CONF_VALID_ENUM_NOCASE: return check_words(key, text, true, arena, ret_message);
    case CONF_VALID_LIST: return check_list(key, value, arena, ret_message);
    case CONF_VALID_NON_NULL:
        return value->is_null ? refuse(key, text, arena, "entry must be non null", ret_message)
                              : ERR_NONE;
    case CONF_VALID_NON_EMPTY:
        /* For the quorum's lists the rule is about their items, which config checks. */
        if (key->type == CONF_LIST || value->is_null || text.size > 0)
            return ERR_NONE;
        return refuse(key, text, arena, "String must be non-empty", ret_message);
    case CONF_VALID_THROTTLED: return check_throttled(key, value, arena, ret_message);
    case CONF_VALID_OFFSET_RESET: return check_offset_reset(key, text, arena, ret_message);
    }
    return ERR_NONE;
}

enum err conf_value_parse(const struct conf_key *key, struct slice text, struct arena *arena,
                          struct conf_value *ret_value, struct slice *ret_message)
{
    struct conf_value value = {.is_null = slice_is_null(text), .text = text, .integer = -1};
    if (!value.is_null) {
        value.text = java_trim(text);
        bool ok = true;
        switch (key->type) {
        case CONF_BOOLEAN:
            value.boolean = slice_eq_nocase(value.text, SLICE_LIT("true"));
            if (!value.boolean && !slice_eq_nocase(value.text, SLICE_LIT("false")))
                return refuse(key, text, arena, "Expected value to be either true or false",
                              ret_message);
            break;
        case CONF_INT:
        case CONF_SHORT:
        case CONF_LONG: ok = parse_integer(key->type, value.text, &value.integer); break;
        case CONF_DOUBLE: ok = parse_double(value.text, arena, &value.real); break;
        case CONF_LIST: parse_list(value.text, arena, &value.list); break;
        case CONF_STRING:
        case CONF_CLASS:
        case CONF_PASSWORD: break;
        }
        if (!ok) {
            struct slice why =
                arena_printf(arena, "Not a number of type %s", type_names[key->type]);
            return refuse(key, text, arena, printed(arena, why), ret_message);
        }
    }
    enum err error = check_value(key, &value, arena, ret_message);
    if (!error)
        *ret_value = value;
    return error;
}

struct slice conf_value_range(const struct conf_key *key, struct arena *arena)
{
    const struct conf_valid *valid = &key->valid;
    int64_t min = INT64_MIN, max = INT64_MAX;
    switch (key->type) {
    case CONF_INT:
        min = INT32_MIN;
        max = INT32_MAX;
        break;
    case CONF_SHORT:
        min = INT16_MIN;
        max = INT16_MAX;
        break;
    case CONF_LONG: break;
    case CONF_DOUBLE:
        return valid->has_min && valid->has_max
                   ? arena_printf(arena, "%g to %g", valid->min, valid->max)
               : valid->has_min ? arena_printf(arena, "numbers from %g on", valid->min)
                                : SLICE_LIT("numbers");
    case CONF_BOOLEAN:
    case CONF_STRING:
    case CONF_LIST:
    case CONF_CLASS:
    case CONF_PASSWORD: return SLICE_NULL;
    }
    min = valid->has_min ? valid->min_i : min;
    max = valid->has_max ? valid->max_i : max;
    struct slice range = arena_printf(arena, "%lld to %lld", (long long)min, (long long)max);
    return valid->has_or
               ? arena_printf(arena, "%.*s, or %lld", SLICE_FMT(range), (long long)valid->or_value)
               : range;
}

/* --- printing -----------------------------------------------------------------------------------
 */

struct slice conf_value_format(const struct conf_key *key, const struct conf_value *value,
                               struct arena *arena)
{
    if (value->is_null)
        return SLICE_NULL;
    switch (key->type) {
    case CONF_BOOLEAN: return value->boolean ? SLICE_LIT("true") : SLICE_LIT("false");
    case CONF_INT:
    case CONF_SHORT:
    case CONF_LONG: return arena_printf(arena, "%lld", (long long)value->integer);
    case CONF_DOUBLE: {
        struct buf b;
        buf_init(&b);
        double_put(&b, value->real);
        struct slice text = arena_dup(arena, buf_slice(&b));
        buf_fini(&b);
        return text;
    }
    case CONF_LIST: {
        struct buf b;
        buf_init(&b);
        for (int32_t i = 0; i < value->list.count; i++)
            buf_printf(&b, "%s%.*s", i ? "," : "", SLICE_FMT(value->list.items[i]));
        struct slice text = arena_dup(arena, buf_slice(&b));
        buf_fini(&b);
        return text;
    }
    case CONF_STRING:
    case CONF_CLASS:
    case CONF_PASSWORD: break;
    }
    return value->text;
}
