/* Regular expressions as a machine that reads the text once (Thompson, CACM 1968): the tree becomes
 * a program of steps, and all places where the program can be are followed together, so that time
 * is bounded by steps times characters, whatever the pattern. Pure. */
#include "base/pattern.h"

#include "base/mem.h"
#include "base/pattern_tree.h"

enum { STEPS_MAX = 10000, VISITS_MAX = 100000 /* of nodes: repeated nothing has no steps */ };

enum step_kind { STEP_SET, STEP_ASSERT, STEP_SPLIT, STEP_JUMP, STEP_MATCH };

struct step {
    enum step_kind kind;
    enum pattern_place place;
    int32_t x, y; /* SPLIT: both ways; JUMP: x; SET: ranges [x, x + y) */
};

/* Steps without repetition: in `items` in the order they came, `places` tells where. */
struct step_set {
    int32_t *items, *places;
    int32_t count;
};

struct pattern {
    struct pattern_tree tree; /* for its ranges */
    struct step *steps;
    size_t count, capacity;
    int32_t visits;
    bool too_large;
    struct step_set now, next;
    int32_t *stack;
};

/* ---- program ------------------------------------------------------------------------------ */

static int32_t emit(struct pattern *pattern, struct step step)
{
    if (pattern->count >= STEPS_MAX) {
        pattern->too_large = true;
        return 0;
    }
    pattern->steps =
        mem_grow(pattern->steps, &pattern->capacity, pattern->count, sizeof *pattern->steps);
    pattern->steps[pattern->count] = step;
    return (int32_t)pattern->count++;
}

static int32_t here(const struct pattern *pattern)
{
    return (int32_t)pattern->count;
}

static void compile(struct pattern *pattern, int32_t number);

/* split a b; a: first; jump end; b: split ... */
static void compile_alternation(struct pattern *pattern, int32_t child)
{
    int32_t jumps = -1; /* a chain through their x until the end is known */
    for (; child >= 0 && !pattern->too_large; child = pattern->tree.nodes[child].next) {
        bool last = pattern->tree.nodes[child].next < 0;
        int32_t split = last ? -1 : emit(pattern, (struct step){.kind = STEP_SPLIT});
        if (!last)
            pattern->steps[split].x = here(pattern);
        compile(pattern, child);
        if (last)
            break;
        jumps = emit(pattern, (struct step){.kind = STEP_JUMP, .x = jumps});
        pattern->steps[split].y = here(pattern);
    }
    while (jumps >= 0 && !pattern->too_large) {
        int32_t before = pattern->steps[jumps].x;
        pattern->steps[jumps].x = here(pattern);
        jumps = before;
    }
}

static void compile_repeat(struct pattern *pattern, const struct pattern_node *node)
{
    int32_t child = node->first, min = node->min, max = node->max, start = here(pattern);
    for (int32_t i = 0; i < min && !pattern->too_large; i++) {
        start = here(pattern);
        compile(pattern, child);
    }
    if (max < 0 && min > 0) { /* the last one again */
        int32_t split = emit(pattern, (struct step){.kind = STEP_SPLIT, .x = start});
        pattern->steps[split].y = here(pattern);
        return;
    }
    int32_t splits = -1; /* a chain through their y until the end is known */
    for (int32_t i = min; (max < 0 ? i == min : i < max) && !pattern->too_large; i++) {
        splits = emit(pattern, (struct step){.kind = STEP_SPLIT, .y = splits});
        pattern->steps[splits].x = here(pattern);
        compile(pattern, child);
    }
    if (max < 0)
        emit(pattern, (struct step){.kind = STEP_JUMP, .x = splits});
    while (splits >= 0 && !pattern->too_large) {
        int32_t before = pattern->steps[splits].y;
        pattern->steps[splits].y = here(pattern);
        splits = before;
    }
}

/* The depth is that of the groups, which the parser bounds. */
static void compile(struct pattern *pattern, int32_t number)
{
    const struct pattern_node *node = &pattern->tree.nodes[number];
    if (++pattern->visits > VISITS_MAX)
        pattern->too_large = true;
    if (pattern->too_large)
        return;
    switch (node->kind) {
    case PATTERN_EMPTY: break;
    case PATTERN_SET:
        emit(pattern, (struct step){.kind = STEP_SET, .x = node->range, .y = node->range_count});
        break;
    case PATTERN_ASSERT:
        emit(pattern, (struct step){.kind = STEP_ASSERT, .place = node->place});
        break;
    case PATTERN_CAT:
        for (int32_t child = node->first; child >= 0; child = pattern->tree.nodes[child].next)
            compile(pattern, child);
        break;
    case PATTERN_ALT: compile_alternation(pattern, node->first); break;
    case PATTERN_REPEAT: compile_repeat(pattern, node); break;
    }
}

static void step_set_init(struct step_set *set, size_t count)
{
    set->items = mem_array(count, sizeof *set->items);
    set->places = mem_array(count, sizeof *set->places);
    set->count = 0;
}

static void step_set_fini(struct step_set *set)
{
    mem_free(set->items);
    mem_free(set->places);
}

enum err pattern_new(struct slice text, struct pattern **ret_pattern)
{
    struct pattern *pattern = mem_zalloc(sizeof *pattern);
    int32_t root;
    enum err err = pattern_tree_parse(&pattern->tree, text, &root);
    if (!err) {
        compile(pattern, root);
        emit(pattern, (struct step){.kind = STEP_MATCH});
        if (pattern->too_large)
            err = ERR_INVALID_REGULAR_EXPRESSION;
    }
    if (err) {
        pattern_free(pattern);
        return err;
    }
    step_set_init(&pattern->now, pattern->count);
    step_set_init(&pattern->next, pattern->count);
    pattern->stack = mem_array(2 * pattern->count, sizeof *pattern->stack);
    *ret_pattern = pattern;
    return ERR_NONE;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pattern_tree_fini(&pattern->tree);
    step_set_fini(&pattern->now);
    step_set_fini(&pattern->next);
    mem_free(pattern->steps);
    mem_free(pattern->stack);
    mem_free(pattern);
}

/* ---- run ---------------------------------------------------------------------------------- */

/* A place in the text: the characters around it, -1 = none. */
struct place {
    int64_t before, after;
};

static bool is_word(int64_t code)
{
    return (code >= '0' && code <= '9') || code == '_' ||
           (code >= 0 && code < 0x80 && (code | 32) >= 'a' && (code | 32) <= 'z');
}

static bool holds(enum pattern_place wanted, struct place place)
{
    switch (wanted) {
    case PATTERN_TEXT_BEGIN: return place.before < 0;
    case PATTERN_TEXT_END: return place.after < 0;
    case PATTERN_LINE_BEGIN: return place.before < 0 || place.before == '\n';
    case PATTERN_LINE_END: return place.after < 0 || place.after == '\n';
    case PATTERN_WORD_EDGE: return is_word(place.before) != is_word(place.after);
    case PATTERN_NO_WORD_EDGE: break;
    }
    return is_word(place.before) == is_word(place.after);
}

static bool step_set_add(struct step_set *set, int32_t step)
{
    int32_t at = set->places[step];
    if (at < set->count && set->items[at] == step)
        return false;
    set->places[step] = set->count;
    set->items[set->count++] = step;
    return true;
}

/* Adds the step and all that follow it without a character. */
static void follow(struct pattern *pattern, struct step_set *set, int32_t step, struct place place)
{
    int32_t depth = 0;
    pattern->stack[depth++] = step;
    while (depth > 0) {
        int32_t at = pattern->stack[--depth];
        if (!step_set_add(set, at))
            continue;
        const struct step *s = &pattern->steps[at];
        if (s->kind == STEP_SPLIT)
            pattern->stack[depth++] = s->y;
        if (s->kind == STEP_SPLIT || s->kind == STEP_JUMP)
            pattern->stack[depth++] = s->x;
        if (s->kind == STEP_ASSERT && holds(s->place, place))
            pattern->stack[depth++] = at + 1;
    }
}

static bool in_ranges(const struct pattern_range *ranges, int32_t count, uint32_t code)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (ranges[middle].high < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].low <= code;
}

bool pattern_matches(struct pattern *pattern, struct slice text)
{
    struct place place = {-1, text.size > 0 ? (int64_t)pattern_next_code(&text) : -1};
    pattern->now.count = 0;
    follow(pattern, &pattern->now, 0, place);
    while (place.after >= 0 && pattern->now.count > 0) {
        uint32_t code = (uint32_t)place.after;
        place = (struct place){code, text.size > 0 ? (int64_t)pattern_next_code(&text) : -1};
        pattern->next.count = 0;
        for (int32_t i = 0; i < pattern->now.count; i++) {
            int32_t at = pattern->now.items[i];
            const struct step *s = &pattern->steps[at];
            if (s->kind == STEP_SET && in_ranges(pattern->tree.ranges + s->x, s->y, code))
                follow(pattern, &pattern->next, at + 1, place);
        }
        struct step_set swap = pattern->now;
        pattern->now = pattern->next;
        pattern->next = swap;
    }
    for (int32_t i = 0; place.after < 0 && i < pattern->now.count; i++) {
        if (pattern->steps[pattern->now.items[i]].kind == STEP_MATCH)
            return true;
    }
    return false;
}
