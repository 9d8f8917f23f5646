/* The text format of java.util.Properties: comments (# and !), separators '=', ':' or blanks,
 * continuation lines, escapes, \uXXXX (surrogate pairs too). Bytes of the file are taken as UTF-8
 * (Kafka reads them so); keys and values come out as UTF-8. A key given twice: the last value wins,
 * at the place of the first. Pure; any thread. */
#ifndef KLAMM_CONF_PROPERTIES_H
#define KLAMM_CONF_PROPERTIES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

enum { PROPERTIES_SIZE_MAX = 4 * 1024 * 1024 }; /* of a file */

struct property {
    struct slice key;
    struct slice value;
    int line; /* first line of its (last) definition, from 1; 0 = set by the program */
};

struct properties {
    struct arena arena; /* owns the texts */
    struct map map;     /* key -> struct property *, in order of first appearance */
};

void properties_init(struct properties *p);
void properties_fini(struct properties *p);

/* Adds what the text says. ERR_MALFORMED (a bad \u escape; *ret_line is its line), ERR_TOO_LARGE.
 */
enum err properties_parse(struct properties *p, struct slice text, int *ret_line);

/* Null when absent. */
struct slice properties_get(const struct properties *p, struct slice key);
/* Adds or replaces; copies both. */
void properties_set(struct properties *p, struct slice key, struct slice value);

static inline size_t properties_count(const struct properties *p)
{
    return map_count(&p->map);
}

static inline const struct property *properties_at(const struct properties *p, size_t index)
{
    return map_at(&p->map, index);
}

/* Appends "key=value\n" in order, escaped so that Java and properties_parse read the same back. */
void properties_write(const struct properties *p, struct buf *out);

#endif
