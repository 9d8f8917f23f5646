/* A configuration from lines of properties. */
#ifndef KLAMM_TESTS_CONFIG_TEXT_H
#define KLAMM_TESTS_CONFIG_TEXT_H

#include "unit.h"

#include "conf/config.h"

/* NULL when it is refused; *ret_message (mem_free) says why. Later lines win over earlier ones. */
static inline struct config *config_try(struct slice text, char **ret_message)
{
    struct properties p;
    properties_init(&p);
    int line;
    assert_int_equal(properties_parse(&p, text, &line), ERR_NONE);
    struct config *config = NULL;
    *ret_message = NULL;
    enum err error = config_new(&p, &config, ret_message);
    assert_int_equal(error, config ? ERR_NONE : ERR_INVALID_CONFIG);
    properties_fini(&p);
    return config;
}

static inline struct config *config_of(const char *text)
{
    char *message;
    struct config *config = config_try(slice_str(text), &message);
    if (!config)
        fail_msg("%s", message);
    return config;
}

#endif
