/* What the tests of conf share: configurations that are refused, and files of tests/golden/conf. */
#ifndef KLAMM_TESTS_CONF_FIXTURE_H
#define KLAMM_TESTS_CONF_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "../config_text.h"

#include "base/mem.h"

/* The least that a combined node needs. */
#define NODE                                                             \
    "process.roles=broker,controller\nnode.id=1\n"                       \
    "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"               \
    "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n" \
    "controller.listener.names=CONTROLLER\nlog.dirs=/var/lib/kafka\n"

/* Asserts that the text is refused and that the message contains every given part. */
static inline void assert_refused(const char *text, const char *part, const char *other)
{
    char *message;
    struct config *config = config_try(slice_str(text), &message);
    if (config)
        fail_msg("taken: %s", text);
    if (!strstr(message, part) || !strstr(message, other))
        fail_msg("'%s' lacks '%s' or '%s'", message, part, other);
    mem_free(message);
}

/* A file of tests/golden/conf; mem_free. */
static inline char *golden(const char *name)
{
    char path[512];
    const char *dir = getenv("KLAMM_TESTS_DIR");
    snprintf(path, sizeof(path), "%s/golden/conf/%s", dir ? dir : "../tests", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = mem_zalloc(1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size > 0);
    fclose(file);
    return text;
}

#define PAIRS(...)                                                         \
    ((struct conf_pairs){(const struct conf_pair[]){__VA_ARGS__},          \
                         sizeof((const struct conf_pair[]){__VA_ARGS__}) / \
                             sizeof(struct conf_pair)})
#define PAIR(name, value)                 \
    {                                     \
        SLICE_LIT(name), SLICE_LIT(value) \
    }
#define NO_PAIRS ((struct conf_pairs){NULL, 0})

#endif
