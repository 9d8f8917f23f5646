/* Configuration texts of any kind: what properties_parse takes is written and read back the same; a
 * node's file that ends in the input never breaks config_new; and the pairs of the input serve as
 * overrides and operations of every resource type. */
#include "fuzz.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "conf/dynamic.h"
#include "conf/topic_config.h"

static const char node[] = "process.roles=broker,controller\nnode.id=1\n"
                           "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
                           "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
                           "controller.listener.names=CONTROLLER\nlog.dirs=/var/lib/kafka\n";

static void check_round_trip(const struct properties *p)
{
    struct buf text;
    buf_init(&text);
    properties_write(p, &text);
    struct properties again;
    properties_init(&again);
    int line;
    ENSURE(!properties_parse(&again, buf_slice(&text), &line));
    ENSURE_CMP(properties_count(&again), ==, properties_count(p));
    for (size_t i = 0; i < properties_count(p); i++) {
        ENSURE(slice_eq(properties_at(p, i)->key, properties_at(&again, i)->key));
        ENSURE(slice_eq(properties_at(p, i)->value, properties_at(&again, i)->value));
    }
    properties_fini(&again);
    buf_fini(&text);
}

/* The node's file with the input's keys over it. */
static struct config *make_config(const struct properties *p)
{
    struct properties all;
    properties_init(&all);
    int line;
    ENSURE(!properties_parse(&all, slice_str(node), &line));
    for (size_t i = 0; p && i < properties_count(p); i++)
        properties_set(&all, properties_at(p, i)->key, properties_at(p, i)->value);
    struct config *config = NULL;
    char *message = NULL;
    if (config_new(&all, &config, &message))
        ENSURE(message && *message);
    mem_free(message);
    properties_fini(&all);
    return config;
}

static void use_as_overrides(const struct config *config, struct conf_pairs pairs,
                             const struct conf_op *ops)
{
    static const enum conf_resource_type types[] = {CONF_RESOURCE_TOPIC, CONF_RESOURCE_BROKER,
                                                    CONF_RESOURCE_GROUP,
                                                    CONF_RESOURCE_CLIENT_METRICS};
    struct topic_config topic;
    topic_config_compute(config, pairs, &topic);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct arena arena;
        arena_init(&arena);
        struct conf_entry *entries;
        int32_t count;
        struct slice name = types[i] == CONF_RESOURCE_BROKER ? SLICE_LIT("") : SLICE_LIT("x");
        conf_describe(types[i], name, config, pairs, NULL, 0, &arena, &entries, &count);
        struct conf_changes changes;
        struct conf_result result = conf_alter(types[i], name, config, (struct conf_pairs){NULL, 0},
                                               ops, pairs.count, &arena, &changes);
        if (!result.error)
            ENSURE_CMP(changes.count, <=, pairs.count);
        arena_fini(&arena);
    }
    config_unref(config_with_dynamic(config, pairs, pairs));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct properties p;
    properties_init(&p);
    int line = 0;
    if (properties_parse(&p, slice_of(data, size), &line)) {
        ENSURE_CMP(line, >, 0);
        properties_fini(&p);
        return 0;
    }
    check_round_trip(&p);
    config_unref(make_config(&p));
    struct config *config = make_config(NULL);
    size_t count = properties_count(&p);
    struct conf_pair *pairs = mem_array(count + 1, sizeof(*pairs));
    struct conf_op *ops = mem_array(count + 1, sizeof(*ops));
    for (size_t i = 0; i < count; i++) {
        const struct property *property = properties_at(&p, i);
        pairs[i] = (struct conf_pair){property->key, property->value};
        /* The length of the value chooses the operation. */
        ops[i] = (struct conf_op){property->key, (enum conf_op_kind)(property->value.size % 4),
                                  property->value};
    }
    use_as_overrides(config, (struct conf_pairs){pairs, (int32_t)count}, ops);
    mem_free(ops);
    mem_free(pairs);
    config_unref(config);
    properties_fini(&p);
    return 0;
}
