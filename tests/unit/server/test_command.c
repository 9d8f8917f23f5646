#include "../unit.h"

#include "base/mem.h"
#include "server/command.h"

#include <string.h>

static enum err parse(int argc, const char *const *argv, struct server_options *options)
{
    char *text = NULL;
    enum err err = server_options_parse(argc, (char *const *)(uintptr_t)argv, options, &text);
    assert_int_equal(err != ERR_NONE, text != NULL);
    mem_free(text);
    return err;
}

static void words(void **state)
{
    (void)state;
    struct server_options o;
    static const char *const plain[] = {"server.properties"};
    assert_int_equal(parse(1, plain, &o), ERR_NONE);
    assert_string_equal(o.properties_path, "server.properties");
    assert_int_equal(o.ready_fd, -1);
    static const char *const fresh[] = {"--data", "d", "--listen=h:1", "--ready-fd", "2"};
    assert_int_equal(parse(5, fresh, &o), ERR_NONE);
    assert_null(o.properties_path);
    assert_string_equal(o.data_path, "d");
    assert_string_equal(o.listen, "h:1");
    assert_int_equal(o.ready_fd, 2);
    assert_int_equal(parse(0, plain, &o), ERR_NONE);
    assert_int_equal(o.override_count, 0);
    static const char *const over[] = {"s.properties", "--override", "a=b=c", "--override=d="};
    assert_int_equal(parse(4, over, &o), ERR_NONE);
    assert_string_equal(o.properties_path, "s.properties");
    assert_int_equal(o.override_count, 2);
    assert_string_equal(o.overrides[0], "a=b=c");
    assert_string_equal(o.overrides[1], "d=");
}

static void memory(void **state)
{
    (void)state;
    struct server_options o;
    static const char *const plain[] = {"--memory", "67108864"}, *const unit[] = {"--memory=64M"};
    static const char *const part[] = {"--memory", "25%"};
    assert_int_equal(parse(2, plain, &o), ERR_NONE);
    assert_int_equal(o.memory, 64 << 20);
    assert_int_equal(parse(1, unit, &o), ERR_NONE);
    assert_int_equal(o.memory, 64 << 20);
    assert_int_equal(o.memory_percent, 0);
    assert_int_equal(parse(2, part, &o), ERR_NONE);
    assert_int_equal(o.memory_percent, 25);
    static const char *const wrong[] = {"", "%", "0%", "101%", "1k", "-5", "x", "99999999999999G"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *const words[] = {"--memory", wrong[i]};
        assert_int_equal(parse(2, words, &o), ERR_ARGUMENT);
    }
}

static void wrong_words(void **state)
{
    (void)state;
    struct server_options o;
    static const char *const unknown[] = {"--dat", "d"}, *const lone[] = {"--data"};
    static const char *const both[] = {"a.properties", "--data", "d"};
    static const char *const fd[] = {"--ready-fd", "x"}, *const closed[] = {"--ready-fd=4000"};
    static const char *const two[] = {"a", "b"};
    assert_int_equal(parse(2, unknown, &o), ERR_ARGUMENT);
    assert_int_equal(parse(1, lone, &o), ERR_ARGUMENT);
    assert_int_equal(parse(3, both, &o), ERR_ARGUMENT);
    assert_int_equal(parse(2, fd, &o), ERR_ARGUMENT);
    assert_int_equal(parse(1, closed, &o), ERR_ARGUMENT);
    assert_int_equal(parse(2, two, &o), ERR_ARGUMENT);
    static const char *const no_key[] = {"--override", "=v"}, *const no_value[] = {"--override=k"};
    assert_int_equal(parse(2, no_key, &o), ERR_ARGUMENT);
    assert_int_equal(parse(1, no_value, &o), ERR_ARGUMENT);
}

/* The message names what is wrong with the word. */
static void messages(void **state)
{
    (void)state;
    static const struct {
        const char *words[2], *text;
    } cases[] = {
        {{"--ready-fd", NULL}, "--ready-fd: its value is missing"},
        {{"--override", NULL}, "--override: its value is missing"},
        {{"--bogus", NULL}, "--bogus: no such option"},
        {{"a", "b"}, "b: the properties file is given already (a)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server_options o;
        char *text = NULL;
        int count = cases[i].words[1] ? 2 : 1;
        char *const *words = (char *const *)(uintptr_t)cases[i].words;
        assert_int_equal(server_options_parse(count, words, &o, &text), ERR_ARGUMENT);
        assert_string_equal(text, cases[i].text);
        mem_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(memory),
        cmocka_unit_test(wrong_words),
        cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
