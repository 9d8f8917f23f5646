/* Parsing of regular expressions (base/pattern.h tells the syntax), by recursive descent:
 *
 *     alternation = sequence { "|" sequence }
 *     sequence    = { atom [ repetition ] }
 *
 * Flags count from where they stand to the end of their group. As RE2, a repetition of nothing, a
 * repetition of a repetition and a group or class that is not closed are errors; "{" that begins no
 * repetition is a character. Pure. */
#include "base/pattern_tree.h"

#include "base/mem.h"

enum { DEPTH_MAX = 250, CLASS_RANGES_MAX = 2000, END = -1 };

struct parser {
    struct pattern_tree *tree;
    struct slice rest;
    bool ignore_case, multi_line, dot_all; /* flags i, m, s; U changes no answer */
    bool quoting;                          /* behind \Q */
    bool failed;
    int depth;
    struct slice *names; /* of groups, which must differ */
    size_t name_count, name_capacity;
};

/* Characters on their way into a set. */
struct class
{
    struct pattern_range *ranges;
    size_t count, capacity;
};

/* ---- text --------------------------------------------------------------------------------- */

uint32_t pattern_next_code(struct slice *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *at = text->data;
    uint8_t first = at[0];
    size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t code = size == 1 ? first : first & (0x7fu >> size);
    bool sound = size > 0 && first < 0xf5 && size <= text->size;
    for (size_t i = 1; sound && i < size; i++) {
        sound = (at[i] & 0xc0) == 0x80;
        code = code << 6 | (at[i] & 0x3f);
    }
    sound = sound && code >= least[size] && code <= PATTERN_CODE_MAX &&
            (code < 0xd800 || code > 0xdfff);
    *text = slice_sub(*text, sound ? size : 1, text->size - (sound ? size : 1));
    return sound ? code : 0xfffd;
}

static int peek(const struct parser *p)
{
    return p->rest.size > 0 ? p->rest.data[0] : END;
}

/* Takes `text` when it comes next. */
static bool take(struct parser *p, const char *text)
{
    struct slice wanted = slice_str(text);
    if (p->rest.size < wanted.size || memcmp(p->rest.data, wanted.data, wanted.size) != 0)
        return false;
    p->rest = slice_sub(p->rest, wanted.size, p->rest.size - wanted.size);
    return true;
}

static uint32_t next_code(struct parser *p)
{
    if (p->rest.size == 0) {
        p->failed = true;
        return 0;
    }
    return pattern_next_code(&p->rest);
}

/* ---- sets --------------------------------------------------------------------------------- */

static void class_add(struct class *class, uint32_t low, uint32_t high)
{
    class->ranges = mem_grow(class->ranges, &class->capacity, class->count, sizeof *class->ranges);
    class->ranges[class->count++] = (struct pattern_range){low, high};
}

static void class_fini(struct class *class)
{
    mem_free(class->ranges);
}

/* The other case of the ASCII letters in it. */
static void class_fold(struct class *class)
{
    for (size_t i = 0, count = class->count; i < count; i++) {
        for (uint32_t letter = 'A'; letter <= 'Z'; letter++) {
            uint32_t other = letter + ('a' - 'A');
            struct pattern_range range = class->ranges[i];
            if (range.low <= letter && letter <= range.high)
                class_add(class, other, other);
            if (range.low <= other && other <= range.high)
                class_add(class, letter, letter);
        }
    }
}

/* Sorts by insertion (classes are short) and joins what touches. */
static void class_normalise(struct class *class)
{
    for (size_t i = 1; i < class->count; i++) {
        struct pattern_range range = class->ranges[i];
        size_t at = i;
        for (; at > 0 && class->ranges[at - 1].low > range.low; at--)
            class->ranges[at] = class->ranges[at - 1];
        class->ranges[at] = range;
    }
    size_t kept = 0;
    for (size_t i = 0; i < class->count; i++) {
        struct pattern_range range = class->ranges[i];
        if (kept > 0 && range.low <= class->ranges[kept - 1].high + 1) {
            if (range.high > class->ranges[kept - 1].high)
                class->ranges[kept - 1].high = range.high;
        } else {
            class->ranges[kept++] = range;
        }
    }
    class->count = kept;
}

static void class_negate(struct class *class)
{
    class_normalise(class);
    struct class others = {0};
    uint32_t from = 0;
    for (size_t i = 0; i < class->count; i++) {
        if (class->ranges[i].low > from)
            class_add(&others, from, class->ranges[i].low - 1);
        from = class->ranges[i].high + 1;
    }
    if (from <= PATTERN_CODE_MAX)
        class_add(&others, from, PATTERN_CODE_MAX);
    class_fini(class);
    *class = others;
}

static void class_add_all(struct class *class, struct class *other, bool negated)
{
    if (negated)
        class_negate(other);
    for (size_t i = 0; i < other->count; i++)
        class_add(class, other->ranges[i].low, other->ranges[i].high);
    class_fini(other);
}

/* Ranges as pairs of characters: "09" is the digits. */
static void class_add_named(struct class *class, const char *pairs, bool negated)
{
    struct class named = {0};
    for (; *pairs; pairs += 2)
        class_add(&named, (uint8_t)pairs[0], (uint8_t)pairs[1]);
    class_add_all(class, &named, negated);
}

/* \d \s \w and their opposites; false when it is none of them. */
static bool class_add_perl(struct class *class, int letter)
{
    switch (letter) {
    case 'd':
    case 'D': class_add_named(class, "09", letter == 'D'); return true;
    case 's':
    case 'S': class_add_named(class, "\t\n\f\r  ", letter == 'S'); return true;
    case 'w':
    case 'W': class_add_named(class, "09AZ__az", letter == 'W'); return true;
    default: return false;
    }
}

static const struct {
    const char *name, *pairs;
} posix_classes[] = {
    {"alnum", "09AZaz"},   {"alpha", "AZaz"},    {"ascii", NULL /* with NUL */},
    {"blank", "\t\t  "},   {"cntrl", NULL},      {"digit", "09"},
    {"graph", "!~"},       {"lower", "az"},      {"print", " ~"},
    {"punct", "!/:@[`{~"}, {"space", "\t\r  "},  {"upper", "AZ"},
    {"word", "09AZ__az"},  {"xdigit", "09AFaf"},
};

/* Behind "[:"; false when no class of POSIX is named there. */
static bool class_add_posix(struct parser *p, struct class *class)
{
    bool negated = take(p, "^");
    for (size_t i = 0; i < sizeof posix_classes / sizeof *posix_classes; i++) {
        struct slice before = p->rest;
        if (take(p, posix_classes[i].name) && take(p, ":]")) {
            struct class named = {0};
            if (posix_classes[i].pairs)
                class_add_named(&named, posix_classes[i].pairs, false);
            else
                class_add(&named, 0, i == 2 ? 0x7f : 0x1f);
            if (!posix_classes[i].pairs && i != 2)
                class_add(&named, 0x7f, 0x7f);
            class_add_all(class, &named, negated);
            return true;
        }
        p->rest = before;
    }
    return false;
}

/* ---- escapes ------------------------------------------------------------------------------ */

static int digit_of(int c, int base)
{
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return digit < base ? digit : -1;
}

/* Up to `count` digits of that base. */
static uint32_t take_number(struct parser *p, int base, int count)
{
    uint32_t number = 0;
    for (; count > 0 && digit_of(peek(p), base) >= 0 && number <= PATTERN_CODE_MAX; count--)
        number = number * (uint32_t)base + (uint32_t)digit_of((int)next_code(p), base);
    if (number > PATTERN_CODE_MAX)
        p->failed = true;
    return number;
}

static uint32_t take_hex(struct parser *p)
{
    bool braced = take(p, "{");
    struct slice before = p->rest;
    uint32_t number = take_number(p, 16, braced ? 8 : 2);
    size_t digits = before.size - p->rest.size;
    if (braced ? digits == 0 || !take(p, "}") : digits != 2)
        p->failed = true;
    return number;
}

/* The character behind a backslash. */
static uint32_t take_escape(struct parser *p)
{
    int c = peek(p);
    if (c >= '1' && c <= '7' && (p->rest.size < 2 || digit_of(p->rest.data[1], 8) < 0))
        p->failed = true; /* a reference back */
    if (c >= '0' && c <= '7')
        return take_number(p, 8, 3);
    uint32_t code = next_code(p);
    switch (code) {
    case 'a': return '\a';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case 'x': return take_hex(p);
    default: break;
    }
    bool is_word = code < 0x80 && (digit_of((int)code, 10) >= 0 || code == '_' ||
                                   ((code | 32) >= 'a' && (code | 32) <= 'z'));
    if (code >= 0x80 || (is_word && code != '_'))
        p->failed = true;
    return code;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static int32_t new_node(struct parser *p, enum pattern_kind kind)
{
    struct pattern_tree *tree = p->tree;
    if (tree->node_count >= PATTERN_NODES_MAX)
        p->failed = true;
    tree->nodes =
        mem_grow(tree->nodes, &tree->node_capacity, tree->node_count, sizeof *tree->nodes);
    tree->nodes[tree->node_count] =
        (struct pattern_node){.kind = kind, .first = -1, .last = -1, .next = -1};
    return (int32_t)tree->node_count++;
}

static void add_child(struct parser *p, int32_t parent, int32_t child)
{
    struct pattern_node *nodes = p->tree->nodes;
    if (nodes[parent].last < 0)
        nodes[parent].first = child;
    else
        nodes[nodes[parent].last].next = child;
    nodes[parent].last = child;
}

/* Takes what the class holds. */
static int32_t new_set(struct parser *p, struct class *class, bool negated)
{
    struct pattern_tree *tree = p->tree;
    if (p->ignore_case)
        class_fold(class);
    if (negated)
        class_negate(class);
    class_normalise(class);
    int32_t node = new_node(p, PATTERN_SET);
    tree->nodes[node].range = (int32_t)tree->range_count;
    tree->nodes[node].range_count = (int32_t) class->count;
    for (size_t i = 0; i < class->count; i++) {
        tree->ranges =
            mem_grow(tree->ranges, &tree->range_capacity, tree->range_count, sizeof *tree->ranges);
        tree->ranges[tree->range_count++] = class->ranges[i];
    }
    class_fini(class);
    return node;
}

static int32_t new_char(struct parser *p, uint32_t code)
{
    struct class class = {0};
    class_add(&class, code, code);
    return new_set(p, &class, false);
}

static int32_t new_place(struct parser *p, enum pattern_place place)
{
    int32_t node = new_node(p, PATTERN_ASSERT);
    p->tree->nodes[node].place = place;
    return node;
}

/* ---- grammar ------------------------------------------------------------------------------ */

static int32_t parse_alternation(struct parser *p);

/* Behind "[". */
static int32_t parse_class(struct parser *p)
{
    struct class class = {0};
    bool negated = take(p, "^");
    for (bool first = true; !p->failed && (first || !take(p, "]")); first = false) {
        if (take(p, "[:") && (class_add_posix(p, &class) || (p->failed = true)))
            continue;
        bool escaped = take(p, "\\");
        if (escaped && class_add_perl(&class, peek(p))) {
            next_code(p);
            continue;
        }
        uint32_t low = escaped ? take_escape(p) : next_code(p), high = low;
        if (p->rest.size >= 2 && p->rest.data[0] == '-' && p->rest.data[1] != ']') {
            take(p, "-");
            high = take(p, "\\") ? take_escape(p) : next_code(p);
        }
        if (high < low || class.count > CLASS_RANGES_MAX)
            p->failed = true;
        class_add(&class, low, high);
    }
    return new_set(p, &class, negated);
}

/* Behind "\"; -1 for \Q, which is no atom. */
static int32_t parse_escaped(struct parser *p)
{
    struct class class = {0};
    if (class_add_perl(&class, peek(p))) {
        next_code(p);
        return new_set(p, &class, false);
    }
    if (take(p, "A"))
        return new_place(p, PATTERN_TEXT_BEGIN);
    if (take(p, "z"))
        return new_place(p, PATTERN_TEXT_END);
    if (take(p, "b"))
        return new_place(p, PATTERN_WORD_EDGE);
    if (take(p, "B"))
        return new_place(p, PATTERN_NO_WORD_EDGE);
    if (take(p, "Q")) {
        p->quoting = true;
        return -1;
    }
    return new_char(p, take_escape(p));
}

/* The flags of "(?flags)" and "(?flags:", up to what ends them. */
static void parse_flags(struct parser *p)
{
    bool on = true, any = false, minus = false;
    for (int c = peek(p); c != ')' && c != ':' && !p->failed; c = peek(p)) {
        next_code(p);
        any = true;
        switch (c) {
        case 'i': p->ignore_case = on; break;
        case 'm': p->multi_line = on; break;
        case 's': p->dot_all = on; break;
        case 'U': break;
        case '-':
            p->failed |= minus;
            minus = true;
            on = any = false;
            break;
        default: p->failed = true; break;
        }
    }
    if (minus && !any)
        p->failed = true;
}

static void parse_name(struct parser *p)
{
    struct slice before = p->rest;
    while (!p->failed && peek(p) != '>') {
        uint32_t c = next_code(p);
        bool is_word = c < 0x80 && (digit_of((int)c, 10) >= 0 || c == '_' ||
                                    ((c | 32) >= 'a' && (c | 32) <= 'z'));
        p->failed |= !is_word;
    }
    struct slice name = slice_sub(before, 0, before.size - p->rest.size);
    p->failed |= name.size == 0 || !take(p, ">");
    for (size_t i = 0; i < p->name_count; i++)
        p->failed |= slice_eq(p->names[i], name);
    p->names = mem_grow(p->names, &p->name_capacity, p->name_count, sizeof *p->names);
    p->names[p->name_count++] = name;
}

/* Behind "("; -1 for flags alone, which are no atom. */
static int32_t parse_group(struct parser *p)
{
    struct parser outer = *p;
    if (take(p, "?P<") || take(p, "?<")) {
        parse_name(p);
    } else if (take(p, "?")) {
        parse_flags(p);
        if (take(p, ")"))
            return -1;
        p->failed |= !take(p, ":");
    }
    if (++p->depth > DEPTH_MAX)
        p->failed = true;
    int32_t node = p->failed ? new_node(p, PATTERN_EMPTY) : parse_alternation(p);
    p->failed |= !take(p, ")");
    p->depth = outer.depth;
    p->ignore_case = outer.ignore_case;
    p->multi_line = outer.multi_line;
    p->dot_all = outer.dot_all;
    return node;
}

static int32_t parse_dot(struct parser *p)
{
    struct class class = {0};
    if (!p->dot_all)
        class_add(&class, '\n', '\n');
    bool folds = p->ignore_case;
    p->ignore_case = false;
    int32_t node = new_set(p, &class, true);
    p->ignore_case = folds;
    return node;
}

/* -1: it changed how to read on, and is no atom. */
static int32_t parse_atom(struct parser *p)
{
    if (p->quoting) {
        if (take(p, "\\E")) {
            p->quoting = false;
            return -1;
        }
        return new_char(p, next_code(p));
    }
    if (take(p, "("))
        return parse_group(p);
    if (take(p, "["))
        return parse_class(p);
    if (take(p, "\\"))
        return parse_escaped(p);
    if (take(p, "."))
        return parse_dot(p);
    if (take(p, "^"))
        return new_place(p, p->multi_line ? PATTERN_LINE_BEGIN : PATTERN_TEXT_BEGIN);
    if (take(p, "$"))
        return new_place(p, p->multi_line ? PATTERN_LINE_END : PATTERN_TEXT_END);
    return new_char(p, next_code(p));
}

/* A decimal number, at most just above what may be repeated; false when there is none, or one with
 * a zero in front. */
static bool take_count(struct parser *p, int32_t *ret_count)
{
    struct slice before = p->rest;
    int32_t count = 0;
    while (digit_of(peek(p), 10) >= 0) {
        count = count * 10 + digit_of((int)next_code(p), 10);
        if (count > PATTERN_REPEAT_MAX)
            count = PATTERN_REPEAT_MAX + 1;
    }
    size_t digits = before.size - p->rest.size;
    *ret_count = count;
    return digits == 1 || (digits > 1 && before.data[0] != '0');
}

/* "{n}", "{n,}", "{n,m}"; false when it is none, and nothing is taken. */
static bool take_counts(struct parser *p, int32_t *ret_min, int32_t *ret_max)
{
    struct slice before = p->rest;
    int32_t min = 0, max = 0;
    bool sound = take(p, "{") && take_count(p, &min);
    max = min;
    if (sound && take(p, ",")) {
        max = -1;
        sound = peek(p) == '}' || take_count(p, &max);
    }
    if (!sound || !take(p, "}")) {
        p->rest = before;
        return false;
    }
    if (min > PATTERN_REPEAT_MAX || max > PATTERN_REPEAT_MAX || (max >= 0 && max < min))
        p->failed = true;
    *ret_min = min;
    *ret_max = max;
    return true;
}

static bool take_repetition(struct parser *p, int32_t *ret_min, int32_t *ret_max)
{
    if (p->quoting)
        return false;
    *ret_min = 0;
    *ret_max = -1;
    if (take(p, "*"))
        return true;
    if (take(p, "?")) {
        *ret_max = 1;
        return true;
    }
    if (take(p, "+")) {
        *ret_min = 1;
        return true;
    }
    return take_counts(p, ret_min, ret_max);
}

static int32_t parse_sequence(struct parser *p)
{
    int32_t sequence = new_node(p, PATTERN_CAT), min, max;
    while (!p->failed && p->rest.size > 0 && (p->quoting || (peek(p) != '|' && peek(p) != ')'))) {
        if (take_repetition(p, &min, &max)) {
            p->failed = true; /* of nothing */
            break;
        }
        int32_t atom = parse_atom(p);
        if (atom < 0)
            continue;
        if (p->quoting && take(p, "\\E"))
            p->quoting = false; /* a repetition behind it is one of the last character */
        if (take_repetition(p, &min, &max)) {
            take(p, "?"); /* as few as possible: the same answer */
            int32_t again_min, again_max;
            p->failed |= take_repetition(p, &again_min, &again_max);
            int32_t repeat = new_node(p, PATTERN_REPEAT);
            p->tree->nodes[repeat].min = min;
            p->tree->nodes[repeat].max = max;
            add_child(p, repeat, atom);
            atom = repeat;
        }
        add_child(p, sequence, atom);
    }
    return sequence;
}

static int32_t parse_alternation(struct parser *p)
{
    int32_t alternation = new_node(p, PATTERN_ALT);
    do {
        add_child(p, alternation, parse_sequence(p));
    } while (!p->failed && take(p, "|"));
    return alternation;
}

enum err pattern_tree_parse(struct pattern_tree *tree, struct slice text, int32_t *ret_root)
{
    *tree = (struct pattern_tree){0};
    struct parser p = {.tree = tree, .rest = text};
    int32_t root = parse_alternation(&p);
    mem_free(p.names);
    if (p.failed || p.rest.size > 0)
        return ERR_INVALID_REGULAR_EXPRESSION;
    *ret_root = root;
    return ERR_NONE;
}

void pattern_tree_fini(struct pattern_tree *tree)
{
    mem_free(tree->nodes);
    mem_free(tree->ranges);
}
