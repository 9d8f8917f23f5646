/* Regular expressions: RE2 behind the C face of pattern.h, which takes and refuses what Kafka's
 * RE2/J does. The one file in C++, for RE2 has no
 * other face; nothing of C++ leaves it. Out of memory ends the process, as in mem.h: nobody
 * catches.
 *
 * RE2 keeps a pattern and its automaton within PATTERN_MEMORY_MAX, whatever the client sent, and
 * matches in time linear in the text. */
extern "C" {
#include "base/pattern.h"
}

#include <algorithm>
#include <cctype>
#include <re2/re2.h>
#include <set>
#include <string>
#include <string_view>

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

/* ---- RE2/J's syntax into RE2's ----------------------------------------------------------------
 *
 * They differ in little: \C (one byte) is RE2's alone; an escaped character outside ASCII stands
 * for itself in RE2/J only, and a '{' that does cannot be repeated there; groups may be named
 * (?<name>...) as well, with names of [A-Za-z0-9_], each once. Whatever else is no pattern is left
 * to RE2, so that the walk need not be right about it. */
struct translation {
    std::string_view in;
    std::string out;
    size_t at = 0;
    std::set<std::string_view> names;

    bool starts(std::string_view with) const
    {
        return in.substr(at, with.size()) == with;
    }

    void copy_to(size_t end)
    {
        end = std::min(end, in.size());
        out.append(in.substr(at, end - at));
        at = end;
    }

    /* At a backslash. */
    bool escape()
    {
        if (starts("\\C"))
            return false;
        if (at + 1 < in.size() && static_cast<unsigned char>(in[at + 1]) >= 0x80)
            at++;
        else
            copy_to(at + 1);
        copy_to(at + 1);
        return true;
    }

    /* At "\Q": up to "\E" nothing has a meaning. */
    void quotation()
    {
        size_t end = in.find("\\E", at + 2);
        copy_to(end == std::string_view::npos ? end : end + 2);
    }

    /* At '['. A ']' that comes first is one of the characters, and a name, as in [[:alpha:]], has
     * one of its own. In RE2/J "[:" begins a name wherever ":]" follows. */
    bool char_class()
    {
        copy_to(at + 1);
        if (starts("^"))
            copy_to(at + 1);
        for (bool first = true; at < in.size() && (first || in[at] != ']'); first = false) {
            size_t name_end = starts("[:") ? in.find(":]", at + 1) : std::string_view::npos;
            if (name_end == at + 1)
                return false;
            if (name_end != std::string_view::npos)
                copy_to(name_end + 2);
            else if (in[at] != '\\')
                copy_to(at + 1);
            else if (!escape())
                return false;
        }
        return true;
    }

    size_t number_end(size_t from) const
    {
        size_t end = from;
        while (end < in.size() && in[end] >= '0' && in[end] <= '9')
            end++;
        return end > from + 1 && in[from] == '0' ? from : end;
    }

    /* The end of "{2}", "{2,}" or "{2,3}" at `from`; 0: it is none. */
    size_t repeat_end(size_t from) const
    {
        size_t end = number_end(from + 1);
        if (in[from] != '{' || end == from + 1)
            return 0;
        if (end < in.size() && in[end] == ',')
            end = number_end(end + 1);
        return end < in.size() && in[end] == '}' ? end + 1 : 0;
    }

    /* At '{', which stands for itself where it begins no repetition; but RE2/J cannot repeat it. */
    bool brace()
    {
        size_t end = repeat_end(at);
        copy_to(end ? end : at + 1);
        return end || at == in.size() ||
               (in[at] != '*' && in[at] != '+' && in[at] != '?' && !repeat_end(at));
    }

    /* At "(?P<" or "(?<". */
    bool named_group()
    {
        size_t name_at = in.find('<', at) + 1, name_end = in.find('>', name_at);
        if (name_end == std::string_view::npos || name_end == name_at)
            return false;
        std::string_view name = in.substr(name_at, name_end - name_at);
        for (unsigned char c : name)
            if (c >= 0x80 || (!isalnum(c) && c != '_'))
                return false;
        if (!names.insert(name).second)
            return false;
        out.append("(?P<");
        at = name_at;
        return true;
    }

    bool run()
    {
        while (at < in.size()) {
            bool ok = true;
            if (starts("\\Q"))
                quotation();
            else if (in[at] == '\\')
                ok = escape();
            else if (in[at] == '[')
                ok = char_class();
            else if (in[at] == '{')
                ok = brace();
            else if (starts("(?P<") || starts("(?<"))
                ok = named_group();
            else
                copy_to(at + 1);
            if (!ok)
                return false;
        }
        return true;
    }
};

extern "C" enum err pattern_new(struct slice text, struct pattern **ret_pattern)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(PATTERN_MEMORY_MAX);
    const std::string whole = repaired(text);
    translation translation;
    translation.in = whole;
    if (!translation.run())
        return ERR_INVALID_REGULAR_EXPRESSION;
    struct pattern *pattern = new struct pattern(translation.out, options);
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
