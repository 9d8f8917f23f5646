/* Reading and writing java.util.Properties text.
 *
 * The reader follows Properties.load: a natural line that ends in an odd number of backslashes goes
 * on in the next one, whose leading blanks are dropped; comments exist only where a logical line
 * begins; a key ends at the first unescaped '=', ':' or blank; an unknown escape stands for its
 * letter. Kafka's server and the container images depend on these corners. Called at start with the
 * content of server.properties and for meta.properties-like files; pure. */
#include "conf/properties.h"

#include "base/mem.h"

struct reader {
    const uint8_t *at, *end;
    int line;
    struct buf text; /* the piece being built */
    uint16_t high;   /* a high surrogate waiting for its low half; 0 = none */
    bool bad;
};

void properties_init(struct properties *p)
{
    arena_init(&p->arena);
    map_init(&p->map);
}

void properties_fini(struct properties *p)
{
    map_fini(&p->map);
    arena_fini(&p->arena);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_eol(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* Steps over one line end; "\r\n" counts as one. */
static void skip_eol(struct reader *r)
{
    if (r->at < r->end && *r->at == '\r') {
        r->at++;
        if (r->at < r->end && *r->at == '\n')
            r->at++;
        r->line++;
    } else if (r->at < r->end && *r->at == '\n') {
        r->at++;
        r->line++;
    }
}

static void put_utf8(struct buf *out, uint32_t c)
{
    uint8_t b[4];
    size_t size;
    if (c < 0x80) {
        b[0] = (uint8_t)c;
        size = 1;
    } else if (c < 0x800) {
        b[0] = (uint8_t)(0xc0 | c >> 6);
        b[1] = (uint8_t)(0x80 | (c & 0x3f));
        size = 2;
    } else if (c < 0x10000) {
        b[0] = (uint8_t)(0xe0 | c >> 12);
        b[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        b[2] = (uint8_t)(0x80 | (c & 0x3f));
        size = 3;
    } else {
        b[0] = (uint8_t)(0xf0 | c >> 18);
        b[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        b[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        b[3] = (uint8_t)(0x80 | (c & 0x3f));
        size = 4;
    }
    buf_put(out, b, size);
}

/* A lone surrogate has no UTF-8 form; Java encodes it as '?'. */
static void flush_surrogate(struct reader *r)
{
    if (r->high) {
        r->high = 0;
        buf_put_str(&r->text, "?");
    }
}

static void put_unit(struct reader *r, uint16_t unit)
{
    if (unit >= 0xdc00 && unit <= 0xdfff && r->high) {
        uint32_t c = 0x10000 + ((uint32_t)(r->high - 0xd800) << 10) + (unit - 0xdc00u);
        r->high = 0;
        put_utf8(&r->text, c);
        return;
    }
    flush_surrogate(r);
    if (unit >= 0xd800 && unit <= 0xdbff)
        r->high = unit;
    else if (unit >= 0xdc00 && unit <= 0xdfff)
        buf_put_str(&r->text, "?");
    else
        put_utf8(&r->text, unit);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* After "\u": four hex digits, else the text is malformed. */
static void read_unicode(struct reader *r)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = r->at < r->end ? hex_digit(*r->at) : -1;
        if (digit < 0) {
            r->bad = true;
            return;
        }
        unit = unit << 4 | (uint32_t)digit;
        r->at++;
    }
    put_unit(r, (uint16_t)unit);
}

/* At a backslash. Takes the escape, or the line end that it continues over. */
static void read_escape(struct reader *r)
{
    r->at++;
    if (r->at == r->end)
        return; /* a backslash at the very end stands for nothing */
    if (is_eol(*r->at)) {
        skip_eol(r);
        while (r->at < r->end && is_blank(*r->at))
            r->at++;
        return;
    }
    uint8_t c = *r->at++;
    if (c == 'u') {
        read_unicode(r);
        return;
    }
    flush_surrogate(r);
    switch (c) {
    case 't': c = '\t'; break;
    case 'n': c = '\n'; break;
    case 'r': c = '\r'; break;
    case 'f': c = '\f'; break;
    default: break;
    }
    buf_put(&r->text, &c, 1);
}

/* Reads up to the line end, or, as a key, up to its separator. */
static void read_piece(struct reader *r, bool key)
{
    buf_clear(&r->text);
    while (r->at < r->end && !is_eol(*r->at) && !r->bad) {
        uint8_t c = *r->at;
        if (c == '\\') {
            read_escape(r);
            continue;
        }
        if (key && (c == '=' || c == ':' || is_blank(c)))
            break;
        flush_surrogate(r);
        buf_put(&r->text, &c, 1);
        r->at++;
    }
    flush_surrogate(r);
}

/* Blanks and continued line ends between the parts of a logical line. */
static void skip_blanks(struct reader *r)
{
    for (;;) {
        while (r->at < r->end && is_blank(*r->at))
            r->at++;
        if (r->end - r->at < 2 || r->at[0] != '\\' || !is_eol(r->at[1]))
            return;
        r->at++;
        skip_eol(r);
    }
}

static void set(struct properties *p, struct slice key, struct slice value, int line)
{
    struct property *old = map_get(&p->map, key);
    if (!old) {
        old = arena_alloc(&p->arena, sizeof(*old));
        old->key = arena_dup(&p->arena, key);
        map_put(&p->map, old->key, old);
    }
    old->value = arena_dup(&p->arena, value);
    old->line = line;
}

enum err properties_parse(struct properties *p, struct slice text, int *ret_line)
{
    if (text.size > PROPERTIES_SIZE_MAX) {
        *ret_line = 1;
        return ERR_TOO_LARGE;
    }
    struct reader r = {.at = text.data, .end = text.data + text.size, .line = 1};
    buf_init(&r.text);
    while (r.at < r.end && !r.bad) {
        while (r.at < r.end && (is_blank(*r.at) || is_eol(*r.at))) {
            if (is_eol(*r.at))
                skip_eol(&r);
            else
                r.at++;
        }
        if (r.at == r.end)
            break;
        if (*r.at == '#' || *r.at == '!') {
            while (r.at < r.end && !is_eol(*r.at))
                r.at++;
            continue;
        }
        int line = r.line;
        read_piece(&r, true);
        struct slice key = slice_dup(buf_slice(&r.text));
        skip_blanks(&r);
        if (r.at < r.end && (*r.at == '=' || *r.at == ':')) {
            r.at++;
            skip_blanks(&r);
        }
        if (!r.bad)
            read_piece(&r, false);
        /* A line of nothing but a continued end has no key and no value: not an entry. */
        if (!r.bad && (key.size > 0 || r.text.size > 0 || r.line == line))
            set(p, key, buf_slice(&r.text), line);
        slice_free(&key);
    }
    buf_fini(&r.text);
    if (r.bad)
        *ret_line = r.line;
    return r.bad ? ERR_MALFORMED : ERR_NONE;
}

struct slice properties_get(const struct properties *p, struct slice key)
{
    const struct property *found = map_get(&p->map, key);
    return found ? found->value : SLICE_NULL;
}

void properties_set(struct properties *p, struct slice key, struct slice value)
{
    set(p, key, value, 0);
}

/* Bytes of UTF-8 stay as they are: Kafka and properties_parse read the file as UTF-8. */
static void write_piece(struct buf *out, struct slice s, bool key)
{
    bool leading = true;
    for (size_t i = 0; i < s.size; i++) {
        char c = (char)s.data[i];
        switch (c) {
        case '\t': buf_put_str(out, "\\t"); break;
        case '\n': buf_put_str(out, "\\n"); break;
        case '\r': buf_put_str(out, "\\r"); break;
        case '\f': buf_put_str(out, "\\f"); break;
        case '\\': buf_put_str(out, "\\\\"); break;
        case ' ': buf_put_str(out, key || leading ? "\\ " : " "); break;
        case '=':
        case ':':
        case '#':
        case '!':
            if (key)
                buf_put_str(out, "\\");
            buf_put(out, &c, 1);
            break;
        default: buf_put(out, &c, 1); break;
        }
        leading = leading && c == ' ';
    }
}

static void write_line(struct buf *out, struct slice key, struct slice value)
{
    write_piece(out, key, true);
    buf_put_str(out, "=");
    write_piece(out, value, false);
    buf_put_str(out, "\n");
}

void properties_write(const struct properties *p, struct buf *out)
{
    for (size_t i = 0; i < properties_count(p); i++) {
        const struct property *property = properties_at(p, i);
        write_line(out, property->key, property->value);
    }
}
