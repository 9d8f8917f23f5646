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
#include <string>

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

/* Bytes of the UTF-8 character at the start of `text`; 0: malformed. */
static size_t character_size(const uint8_t *text, size_t size)
{
    size_t wanted = text[0] < 0x80                       ? 1
                    : text[0] >= 0xc2 && text[0] < 0xe0  ? 2
                    : (text[0] & 0xf0) == 0xe0           ? 3
                    : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                         : 0;
    for (size_t i = 1; i < wanted; i++)
        if (i >= size || (text[i] & 0xc0) != 0x80)
            return 0;
    return wanted;
}

/* Malformed bytes become U+FFFD, as they do when Kafka reads a string. */
static std::string repaired(struct slice text)
{
    std::string out;
    for (size_t at = 0; at < text.size;) {
        size_t size = character_size(text.data + at, text.size - at);
        if (size)
            out.append(reinterpret_cast<const char *>(text.data) + at, size);
        else
            out.append("\xef\xbf\xbd");
        at += size ? size : 1;
    }
    return out;
}

extern "C" enum err pattern_new(struct slice text, struct pattern **ret_pattern)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(PATTERN_MEMORY_MAX);
    struct pattern *pattern = new struct pattern(piece(text), options);
    if (pattern->re2.error_code() == RE2::ErrorBadUTF8) {
        delete pattern;
        pattern = new struct pattern(repaired(text), options);
    }
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
