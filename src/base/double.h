/* Floating point numbers as text. */
#ifndef KLAMM_BASE_DOUBLE_H
#define KLAMM_BASE_DOUBLE_H

#include "base/buf.h"

/* Appends the text that Java's Double.toString gives: the fewest digits that read back the same, at
 * least one of them behind the point, with an exponent below 10^-3 and from 10^7 on ("1.0E7");
 * "NaN", "Infinity", "-Infinity". */
void double_put(struct buf *out, double value);

#endif
