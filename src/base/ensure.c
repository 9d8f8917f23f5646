/* The end of a process that found a bug in itself. Uses write-through stdio only: no lock or
 * allocation of ours is touched, for any of them may be what broke. */
#include "base/ensure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What becomes of the data is what an operator asks first. */
#define THE_END                                                                        \
    "klamm: the process ends at once, as by kill -9; the next start recovers. Please " \
    "report the line above\n"

_Noreturn void ensure_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "klamm: bug: %s:%d: %s does not hold\n" THE_END, file, line, condition);
    abort();
}

_Noreturn void ensure_failed_cmp(const char *file, int line, const char *condition, int64_t left,
                                 int64_t right)
{
    fprintf(stderr, "klamm: bug: %s:%d: %s does not hold (%" PRId64 ", %" PRId64 ")\n" THE_END,
            file, line, condition, left, right);
    abort();
}
