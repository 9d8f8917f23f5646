/* What a fuzz target shares with libFuzzer and with corpus_main.c. */
#ifndef KLAMM_TESTS_FUZZ_H
#define KLAMM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* One input; aborts when a property does not hold. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
