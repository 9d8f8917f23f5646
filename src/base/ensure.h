/* Asserts that stay on in release builds. A failed ENSURE is a bug in Klamm, never an operating
 * error: it prints where and what, then aborts so that the core shows the state. */
#ifndef KLAMM_BASE_ENSURE_H
#define KLAMM_BASE_ENSURE_H

#include <stdint.h>

/* Ends the process after printing the failed condition. */
_Noreturn void ensure_failed(const char *file, int line, const char *condition);

/* Same, printing both values of a comparison. */
_Noreturn void ensure_failed_cmp(const char *file, int line, const char *condition, int64_t left,
                                 int64_t right);

#define ENSURE(cond) ((cond) ? (void)0 : ensure_failed(__FILE__, __LINE__, #cond))

/* ENSURE_CMP(a, <=, b): for integers that fit int64_t. */
#define ENSURE_CMP(a, op, b) \
    ((a)op(b)                \
         ? (void)0           \
         : ensure_failed_cmp(__FILE__, __LINE__, #a " " #op " " #b, (int64_t)(a), (int64_t)(b)))

#endif
