/* Regular expressions: RE2 behind the C face of pattern.h. The one file in C++, for RE2 has no
 * other face; nothing of C++ leaves it. Out of memory ends the process, as in mem.h: nobody
 * catches.
 *
 * RE2 keeps a pattern and its automaton within PATTERN_MEMORY_MAX, whatever the client sent, and
 * matches in time linear in the text. */
extern "C" {
#include "base/pattern.h"
}

#include <re2/re2.h>

static constexpr int64_t PATTERN_MEMORY_MAX = 1 << 20;

struct pattern {
    RE2 re2;
    pattern(const re2::StringPiece &text, const RE2::Options &options) : re2(text, options)
    {
    }
};

static re2::StringPiece piece(struct slice text)
{
    return {reinterpret_cast<const char *>(text.data), text.size};
}

extern "C" enum err pattern_new(struct slice text, struct pattern **ret_pattern)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(PATTERN_MEMORY_MAX);
    struct pattern *pattern = new struct pattern(piece(text), options);
    if (!pattern->re2.ok()) {
        delete pattern;
        return ERR_INVALID_REGULAR_EXPRESSION;
    }
    *ret_pattern = pattern;
    return ERR_NONE;
}

extern "C" void pattern_free(struct pattern *pattern)
{
    delete pattern;
}

extern "C" bool pattern_matches(const struct pattern *pattern, struct slice text)
{
    return RE2::FullMatch(piece(text), pattern->re2);
}
