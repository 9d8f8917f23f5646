/* Arbitrary patterns on arbitrary texts: no crash, and a pattern says the same as itself in a
 * group, as itself twice in an alternation, and as itself repeated once.
 *
 * Input: a first byte with the size of the pattern, the pattern, the text. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/ensure.h"
#include "base/pattern.h"

/* Whether "<before><pattern><between><pattern><after>" matches; `between` NULL = the pattern once.
 * -1 when it is no pattern. */
static int ask(const char *before, struct slice pattern, const char *between, const char *after,
               struct slice text)
{
    struct buf whole;
    struct pattern *compiled;
    int answer = -1;
    buf_init(&whole);
    buf_put_str(&whole, before);
    buf_put_slice(&whole, pattern);
    if (between) {
        buf_put_str(&whole, between);
        buf_put_slice(&whole, pattern);
    }
    buf_put_str(&whole, after);
    if (pattern_new(buf_slice(&whole), &compiled) == ERR_NONE) {
        answer = pattern_matches(compiled, text);
        ENSURE_CMP(answer, ==, pattern_matches(compiled, text)); /* nothing is left from before */
        pattern_free(compiled);
    }
    buf_fini(&whole);
    return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t pattern_size = data[0] < size - 1 ? data[0] : size - 1;
    struct slice pattern = slice_of(data + 1, pattern_size);
    struct slice text = slice_of(data + 1 + pattern_size, size - 1 - pattern_size);
    int answer = ask("", pattern, NULL, "", text);
    if (answer < 0 || memmem(pattern.data, pattern.size, "\\Q", 2))
        return 0; /* what is quoted to its end does not close a group */
    int grouped = ask("(?:", pattern, NULL, ")", text);
    int repeated = ask("(?:", pattern, NULL, "){1}", text);
    int doubled = ask("(?:", pattern, ")|(?:", ")", text);
    /* Around it there may be no room any more, and names must differ. */
    ENSURE(grouped < 0 || grouped == answer);
    ENSURE(repeated < 0 || repeated == answer);
    ENSURE(doubled < 0 || doubled == answer);
    return 0;
}
