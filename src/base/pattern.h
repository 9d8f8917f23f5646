/* Regular expressions in the syntax of Kafka's RE2/J, matched against whole texts in
 * time linear in the text and bounded memory, so that a client may send any. No groups are
 * captured: the answer is yes or no. Texts are UTF-8. */
#ifndef KLAMM_BASE_PATTERN_H
#define KLAMM_BASE_PATTERN_H

#include "base/err.h"
#include "base/slice.h"

struct pattern;

/* ERR_INVALID_REGULAR_EXPRESSION: it is none, or too large (above about 1 MB once compiled). */
enum err pattern_new(struct slice text, struct pattern **ret_pattern);
void pattern_free(struct pattern *pattern); /* accepts NULL */

/* The whole text must match. Any thread. */
bool pattern_matches(const struct pattern *pattern, struct slice text);

#endif
