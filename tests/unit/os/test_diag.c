#include "os/diag.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"

#include "os/io_ops.h"

static char last[4096];
static int lines;

static void sink(void *context, struct slice line)
{
    (void)context;
    snprintf(last, sizeof last, "%.*s", SLICE_FMT(line));
    lines++;
}

static int64_t fixed_wall_ms(struct io *io)
{
    (void)io;
    return 1796057686123;
}

static int count_calls(int *calls)
{
    return ++*calls;
}

static void writes_lines(void **state)
{
    (void)state;
    static const struct io_ops ops = {.wall_ms = fixed_wall_ms};
    struct io io = {&ops};
    diag_init(&io, sink, NULL);
    diag(DIAG_STORE, DIAG_INFO, "folder %s\nis %d", "x", 7);
    assert_string_equal(last, "2026-11-30T16:54:46.123Z INFO  [store] folder x is 7");
    diag(DIAG_NET, DIAG_WARN, "w");
    assert_string_equal(last, "2026-11-30T16:54:46.123Z WARN  [net] w");
    diag_init(NULL, NULL, NULL);
}

static void levels_are_per_module(void **state)
{
    (void)state;
    diag_init(NULL, sink, NULL);
    lines = 0;
    int calls = 0;
    diag(DIAG_NET, DIAG_DEBUG, "%d", count_calls(&calls));
    assert_int_equal(lines, 0);
    assert_int_equal(calls, 0);
    diag_set_level(DIAG_NET, DIAG_TRACE);
    diag(DIAG_NET, DIAG_DEBUG, "%d", count_calls(&calls));
    diag(DIAG_STORE, DIAG_DEBUG, "%d", count_calls(&calls));
    assert_int_equal(lines, 1);
    assert_int_equal(diag_level_of(DIAG_NET), DIAG_TRACE);
    diag_set_level(DIAG_NET, DIAG_INFO);
    assert_string_equal(diag_level_name(DIAG_ERROR), "ERROR");
    diag_init(NULL, NULL, NULL);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    diag_init(NULL, sink, NULL);
    static char text[5000];
    memset(text, 'y', sizeof text - 1);
    diag(DIAG_NET, DIAG_INFO, "%s", text);
    assert_in_range(strlen(last), 1000, 2047);
    diag_init(NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_lines),
                                       cmocka_unit_test(levels_are_per_module),
                                       cmocka_unit_test(long_lines_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
