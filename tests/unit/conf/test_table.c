/* The generated tables: complete, sorted, found by name, rules read right from the columns. */
#include "../unit.h"

#include "conf/table.h"

static void test_every_key_is_found(void **state)
{
    (void)state;
    int total = 0;
    for (int kind = 0; kind < CONF_KIND_COUNT; kind++) {
        int count;
        const struct conf_key *table = conf_table((enum conf_kind)kind, &count);
        total += count;
        for (int i = 0; i < count; i++) {
            assert_int_equal(conf_find((enum conf_kind)kind, slice_str(table[i].name)), i);
            assert_ptr_equal(conf_key((enum conf_kind)kind, i), &table[i]);
        }
        assert_int_equal(conf_find((enum conf_kind)kind, SLICE_LIT("no.such.key")), -1);
        assert_int_equal(conf_find((enum conf_kind)kind, SLICE_LIT("")), -1);
    }
    assert_int_equal(total, 382 + 38 + 27 + 3);
}

static void test_columns(void **state)
{
    (void)state;
    const struct conf_key *key = conf_key(CONF_KIND_BROKER, BROKER_KEY_COMPRESSION_GZIP_LEVEL);
    assert_string_equal(key->default_text, "-1");
    assert_int_equal(key->type, CONF_INT);
    assert_int_equal(key->update, CONF_CLUSTER_WIDE);
    assert_int_equal(key->valid.kind, CONF_VALID_RANGE);
    assert_int_equal(key->valid.min_i, 1);
    assert_int_equal(key->valid.max_i, 9);
    assert_true(key->valid.has_or && key->valid.or_value == -1);

    key = conf_key(CONF_KIND_BROKER, BROKER_KEY_NODE_ID);
    assert_true(key->required && key->default_text == NULL && key->update == CONF_READ_ONLY);

    key = conf_key(CONF_KIND_TOPIC, TOPIC_KEY_RETENTION_MS);
    assert_int_equal(key->fallbacks[0], BROKER_KEY_LOG_RETENTION_MS);
    assert_int_equal(key->fallbacks[2], BROKER_KEY_LOG_RETENTION_HOURS);
    assert_int_equal(key->fallbacks[3], -1);
    assert_int_equal(key->factors[1], 60000);
    assert_int_equal(key->factors[2], 3600000);

    key = conf_key(CONF_KIND_TOPIC, TOPIC_KEY_CLEANUP_POLICY);
    assert_int_equal(key->valid.kind, CONF_VALID_LIST);
    assert_string_equal(key->valid.words[0], "compact");
    assert_true(key->valid.list_empty_ok && !key->valid.list_null_ok);

    key = conf_key(CONF_KIND_BROKER, BROKER_KEY_SASL_JAAS_CONFIG);
    assert_true(conf_is_sensitive(key));
    assert_int_equal(key->update, CONF_PER_BROKER);
}

static void test_listener_keys(void **state)
{
    (void)state;
    assert_slice_eq(conf_listener_key(SLICE_LIT("listener.name.x.max.connections")),
                    "max.connections");
    assert_true(slice_is_null(conf_listener_key(SLICE_LIT("listener.name.x"))));
    assert_int_equal(conf_find_below_listener(SLICE_LIT("max.connections")),
                     BROKER_KEY_MAX_CONNECTIONS);
    assert_int_equal(conf_find_below_listener(SLICE_LIT("plain.sasl.jaas.config")),
                     BROKER_KEY_SASL_JAAS_CONFIG);
    assert_int_equal(conf_find_below_listener(SLICE_LIT("plain.max.connections")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_found),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_listener_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
