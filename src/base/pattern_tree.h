/* Inside base/pattern only: a pattern as a tree. */
#ifndef KLAMM_BASE_PATTERN_TREE_H
#define KLAMM_BASE_PATTERN_TREE_H

#include "base/err.h"
#include "base/slice.h"

enum { PATTERN_CODE_MAX = 0x10ffff, PATTERN_REPEAT_MAX = 1000, PATTERN_NODES_MAX = 20000 };

enum pattern_kind {
    PATTERN_EMPTY,
    PATTERN_SET,    /* one character of a set */
    PATTERN_ASSERT, /* a place in the text */
    PATTERN_CAT,    /* the children one after the other */
    PATTERN_ALT,    /* one of the children */
    PATTERN_REPEAT, /* the only child, min to max times */
};

enum pattern_place {
    PATTERN_TEXT_BEGIN,
    PATTERN_TEXT_END,
    PATTERN_LINE_BEGIN,
    PATTERN_LINE_END,
    PATTERN_WORD_EDGE,
    PATTERN_NO_WORD_EDGE,
};

/* Characters, as ranges in ascending order that do not touch. */
struct pattern_range {
    uint32_t low, high;
};

struct pattern_node {
    enum pattern_kind kind;
    enum pattern_place place;
    int32_t first, last, next; /* children and sibling: node numbers, -1 = none */
    int32_t min, max;          /* max -1 = any number */
    int32_t range, range_count;
};

struct pattern_tree {
    struct pattern_node *nodes;
    size_t node_count, node_capacity;
    struct pattern_range *ranges;
    size_t range_count, range_capacity;
};

/* The root's number, or ERR_INVALID_REGULAR_EXPRESSION. pattern_tree_fini in any case. */
enum err pattern_tree_parse(struct pattern_tree *tree, struct slice text, int32_t *ret_root);
void pattern_tree_fini(struct pattern_tree *tree);

/* The next character of a UTF-8 text, which moves behind it; U+FFFD for a byte that begins none.
 * The text must not be empty. */
uint32_t pattern_next_code(struct slice *text);

#endif
