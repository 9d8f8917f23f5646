/* Regular expressions in RE2's syntax, matched against whole texts in time linear in the text, so
 * that a client may send any. No groups are captured: the answer is yes or no.
 *
 * Known: . [] [^] [[:alpha:]] \d \s \w and their opposites, x|y, x* x+ x? x{n,m} (up to 1000) and
 * their lazy forms, () (?:) (?P<name>) (?<name>), flags i m s U, ^ $ \A \z \b \B, escapes, \Q \E.
 * Texts are UTF-8; i folds ASCII letters. Not known: classes of Unicode properties (\p, \P). */
#ifndef KLAMM_BASE_PATTERN_H
#define KLAMM_BASE_PATTERN_H

#include "base/err.h"
#include "base/slice.h"

struct pattern;

/* ERR_INVALID_REGULAR_EXPRESSION: it is none, is not known here, or is too large (it would become
 * more than about 10000 steps). */
enum err pattern_new(struct slice text, struct pattern **ret_pattern);
void pattern_free(struct pattern *pattern); /* accepts NULL */

/* The whole text must match. Uses memory of the pattern: one caller at a time. */
bool pattern_matches(struct pattern *pattern, struct slice text);

#endif
