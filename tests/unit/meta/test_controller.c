#include "meta_kit.h"

#include "../config_text.h"
#include "meta/controller.h"
#include "meta/features.h"
#include "wire_messages.h"

#include <stdio.h>

/* One controller over one active broker (id 1, directory kit_id(77)), metadata.version 33. */
struct desk {
    struct kit kit;
    struct config *config;
    struct controller_settings settings;
    struct meta_image *image;
    struct controller c;
    struct meta_records out;
    uint32_t random;
};

static void draw(void *context, void *ret_bytes, size_t size)
{
    struct desk *d = context;
    memset(ret_bytes, (uint8_t)++d->random, size);
    memcpy(ret_bytes, &d->random, size < sizeof d->random ? size : sizeof d->random);
}

static struct config *make_config(const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text,
             "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=C\n"
             "controller.quorum.voters=1@localhost:9093\n"
             "listeners=PLAINTEXT://localhost:9092,C://localhost:9093\n"
             "listener.security.protocol.map=C:PLAINTEXT,PLAINTEXT:PLAINTEXT\n%s",
             extra);
    return config_of(text);
}

static void desk_open(struct desk *d, const char *extra)
{
    memset(d, 0, sizeof *d);
    kit_init(&d->kit);
    meta_records_init(&d->out);
    d->config = make_config(extra);
    d->settings = (struct controller_settings){1, d->config, true};
    kit_feature(&d->kit, "metadata.version", 33);
    kit_feature(&d->kit, "eligible.leader.replicas.version", 1);
    kit_feature(&d->kit, "share.version", 2);
    kit_broker(&d->kit, 1, 5, false);
    d->image = kit_image(&d->kit, NULL);
}

static struct controller *begin(struct desk *d)
{
    meta_records_clear(&d->out);
    d->c = (struct controller){.settings = &d->settings,
                               .image = d->image,
                               .arena = &d->kit.arena,
                               .records = &d->out,
                               .offset_next = 100,
                               .now_ms = 1,
                               .random = draw,
                               .random_context = d};
    controller_init(&d->c);
    return &d->c;
}

static void end(struct desk *d)
{
    struct meta_image *next = controller_finish(&d->c, (struct meta_provenance){1, 1, 1});
    controller_fini(&d->c);
    meta_image_unref(d->image);
    d->image = next;
}

static void desk_close(struct desk *d)
{
    meta_image_unref(d->image);
    meta_records_fini(&d->out);
    config_unref(d->config);
    kit_fini(&d->kit);
}

/* Types of the records of the last decision. */
static void assert_records(struct desk *d, const char *expected)
{
    struct buf out;
    buf_init(&out);
    for (int32_t i = 0; i < d->out.count; i++) {
        struct cursor c = cursor_of(meta_records_at(&d->out, i));
        cursor_uvarint(&c);
        buf_printf(&out, "%s%u", i ? " " : "", cursor_uvarint(&c));
    }
    assert_slice_eq(buf_slice(&out), expected);
    buf_fini(&out);
}

static struct create_topics_response_creatable_topic_result create(
    struct desk *d, const char *name, int32_t partitions, int16_t replication, const char *key,
    const char *value, bool validate_only)
{
    struct create_topics_request request;
    struct create_topics_response response;
    wire_init(&wire_create_topics_request, &request);
    request.validate_only = validate_only;
    struct create_topics_request_creatable_topic *t =
        create_topics_request_topics_new(&d->kit.arena, &request, 1);
    t->name = slice_str(name);
    t->num_partitions = partitions;
    t->replication_factor = replication;
    if (key) {
        create_topics_request_creatable_topic_configs_new(&d->kit.arena, t, 1);
        t->configs[0].name = slice_str(key);
        t->configs[0].value = slice_str(value);
    }
    controller_create_topics(begin(d), &request, &response);
    end(d);
    assert_int_equal(response.topics_count, 1);
    return response.topics[0];
}

/* One request for `count` topics without configs. */
static void create_many(struct desk *d, const char *const *names, int32_t count,
                        struct create_topics_response *response)
{
    struct create_topics_request request;
    wire_init(&wire_create_topics_request, &request);
    struct create_topics_request_creatable_topic *t =
        create_topics_request_topics_new(&d->kit.arena, &request, count);
    for (int32_t i = 0; i < count; i++) {
        t[i].name = slice_str(names[i]);
        t[i].num_partitions = t[i].replication_factor = 1;
    }
    controller_create_topics(begin(d), &request, response);
    end(d);
}

/* As 4.4.0: not with each other in one request, and a name that exists is told so. */
static void names_collide_with_topics_that_exist(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    struct create_topics_response r;
    create_many(&d, (const char *const[]){"x.y.z", "x_y.z"}, 2, &r);
    assert_int_equal(r.topics[0].error_code, 0);
    assert_int_equal(r.topics[1].error_code, 0);
    create_many(&d, (const char *const[]){"x.y.z", "x_y.z", "x_y_z", "x-y.z", "x.y"}, 5, &r);
    static const enum err expected[] = {ERR_TOPIC_ALREADY_EXISTS, ERR_TOPIC_ALREADY_EXISTS,
                                        ERR_INVALID_TOPIC_EXCEPTION, ERR_NONE, ERR_NONE};
    for (int i = 0; i < 5; i++)
        assert_int_equal(r.topics[i].error_code, expected[i]);
    desk_close(&d);
}

/* The best of some tries to create `count` topics that collide with as many others. */
static int64_t time_of_names(int count)
{
    struct desk d;
    desk_open(&d, "");
    const char **names = arena_array(&d.kit.arena, (size_t)count, sizeof *names);
    for (int i = 0; i < count; i++) {
        struct topic_record r;
        wire_init(&wire_topic_record, &r);
        r.name = arena_printf(&d.kit.arena, "a.topic-%d", i);
        memcpy(r.topic_id.bytes, &i, sizeof i);
        meta_records_add(&d.kit.records, &wire_topic_record, 0, &r);
        names[i] = arena_cstr(&d.kit.arena, arena_printf(&d.kit.arena, "a_topic-%d", i));
    }
    d.image = kit_image(&d.kit, d.image);
    int64_t best = INT64_MAX;
    for (int round = 0; round < 3; round++) {
        struct create_topics_response r;
        int64_t before = kit_cpu_ns();
        create_many(&d, names, count, &r);
        int64_t took = kit_cpu_ns() - before;
        best = took < best ? took : best;
        assert_int_equal(r.topics[count - 1].error_code, ERR_INVALID_TOPIC_EXCEPTION);
    }
    desk_close(&d);
    return best;
}

/* Sixteen times the names beside sixteen times the topics may not take 256 times as long. */
static void many_names_beside_many_topics(void **state)
{
    (void)state;
    assert_true(time_of_names(8000) < 64 * time_of_names(500));
}

/* Internal topics count with their own numbers of partitions, those that exist not at all. */
static void what_is_named_into_being_is_counted(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "num.partitions=4000\noffsets.topic.num.partitions=6001\n");
    struct slice names[] = {SLICE_LIT("a"), SLICE_LIT("b"), SLICE_LIT("c"),
                            SLICE_LIT("__consumer_offsets")};
    struct controller *c = begin(&d);
    assert_true(controller_auto_create_fits(c, names, 2));
    assert_false(controller_auto_create_fits(c, names, 3));
    assert_true(controller_auto_create_fits(c, names + 3, 1));
    assert_false(controller_auto_create_fits(c, names + 2, 2));
    end(&d);
    create(&d, "a", 1, 1, NULL, NULL, false);
    c = begin(&d);
    assert_true(controller_auto_create_fits(c, names, 3));
    end(&d);
    desk_close(&d);
}

/* What one request may name must not cost the square of it, in time or in memory. */
static void long_lists_cost_no_more_than_their_length(void **state)
{
    (void)state;
    enum { COUNT = 50000 };
    struct desk d;
    desk_open(&d, "");
    struct create_topics_request request;
    struct create_topics_response response;
    wire_init(&wire_create_topics_request, &request);
    struct create_topics_request_creatable_topic *t =
        create_topics_request_topics_new(&d.kit.arena, &request, 1);
    t->name = SLICE_LIT("t");
    t->num_partitions = t->replication_factor = 1;
    create_topics_request_creatable_topic_configs_new(&d.kit.arena, t, COUNT);
    for (int i = 0; i < COUNT; i++) {
        t->configs[i].name = arena_printf(&d.kit.arena, "c%d", i);
        t->configs[i].value = SLICE_NULL;
    }
    size_t before = d.kit.arena.used;
    controller_create_topics(begin(&d), &request, &response);
    end(&d);
    assert_int_equal(response.topics[0].error_code, ERR_INVALID_CONFIG);
    assert_true(d.kit.arena.used - before < 16 * 1024 * 1024);

    struct create_partitions_request grow;
    struct create_partitions_response grown;
    wire_init(&wire_create_partitions_request, &grow);
    create_partitions_request_topics_new(&d.kit.arena, &grow, COUNT);
    for (int i = 0; i < COUNT; i++)
        grow.topics[i].name = t->configs[i / 2].name;
    controller_create_partitions(begin(&d), &grow, &grown);
    end(&d);
    assert_int_equal(grown.results_count, COUNT / 2);
    assert_int_equal(grown.results[0].error_code, ERR_INVALID_REQUEST);
    desk_close(&d);
}

/* Error texts below are those of 4.4.0. */
static void topics_are_created_with_defaults_and_configs(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "num.partitions=3\n");
    struct create_topics_response_creatable_topic_result r =
        create(&d, "t", -1, -1, "retention.ms", "1000", false);
    assert_int_equal(r.error_code, 0);
    assert_true(slice_is_null(r.error_message));
    assert_int_equal(r.num_partitions, 3);
    assert_int_equal(r.replication_factor, 1);
    assert_true(r.configs_count > 20);
    assert_records(&d, "2 4 3 3 3");
    const struct meta_topic *t = meta_image_topic(d.image, SLICE_LIT("t"));
    assert_int_equal(t->partition_count, 3);
    assert_int_equal(t->partitions[2]->leader, 1);
    assert_int_equal(t->partitions[2]->leader_epoch, 0);
    struct uuid dir = kit_id(77);
    assert_true(uuid_eq(&t->partitions[2]->directories[0], &dir));
    r = create(&d, "m", 1, 1, "min.insync.replicas", "1", false);
    assert_records(&d, "2 4 28 3");
    desk_close(&d);
}

static void what_create_topics_refuses(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    create(&d, "a_b", 1, 1, NULL, NULL, false);
    static const struct {
        const char *name;
        int32_t partitions;
        int16_t replication;
        const char *key, *value;
        enum err error;
        const char *text;
    } cases[] = {
        {"a_b", 1, 1, NULL, NULL, ERR_TOPIC_ALREADY_EXISTS, "Topic 'a_b' already exists."},
        {"a.b", 1, 1, NULL, NULL, ERR_INVALID_TOPIC_EXCEPTION,
         "Topic 'a.b' collides with existing topic: a_b"},
        {"x", 0, 1, NULL, NULL, ERR_INVALID_PARTITIONS,
         "Number of partitions was set to an invalid non-positive value."},
        {"x", 1, 0, NULL, NULL, ERR_INVALID_REPLICATION_FACTOR,
         "Replication factor must be larger than 0, or -1 to use the default value."},
        {"x", 1, 3, NULL, NULL, ERR_INVALID_REPLICATION_FACTOR,
         "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot "
         "be reached because only 1 broker(s) are registered or some brokers have all their "
         "log directories cordoned."},
        {"x", 1, 1, "retention.ms", NULL, ERR_INVALID_CONFIG,
         "Null value not supported for topic configs: retention.ms"},
        {"x", 10001, 1, NULL, NULL, ERR_POLICY_VIOLATION,
         "Excessively large number of partitions per request."},
        {"__cluster_metadata", 1, 1, NULL, NULL, ERR_INVALID_REQUEST,
         "Creation of internal topic __cluster_metadata is prohibited."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct create_topics_response_creatable_topic_result r =
            create(&d, cases[i].name, cases[i].partitions, cases[i].replication, cases[i].key,
                   cases[i].value, false);
        assert_int_equal(r.error_code, cases[i].error);
        assert_slice_eq(r.error_message, cases[i].text);
        assert_records(&d, "");
    }
    struct create_topics_response_creatable_topic_result r =
        create(&d, "a_b", 1, 1, NULL, NULL, true);
    assert_int_equal(r.error_code, ERR_TOPIC_ALREADY_EXISTS);
    r = create(&d, "only-checked", 1, 1, NULL, NULL, true);
    assert_int_equal(r.error_code, 0);
    assert_records(&d, "");
    assert_null(meta_image_topic(d.image, SLICE_LIT("only-checked")));
    desk_close(&d);
}

static void the_offsets_topic_is_created_as_kafka_does(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "offsets.topic.num.partitions=2\noffsets.topic.replication.factor=1\n");
    struct slice text;
    assert_int_equal(
        controller_auto_create_topic(begin(&d), SLICE_LIT("__consumer_offsets"), &text), ERR_NONE);
    end(&d);
    assert_records(&d, "2 4 4 4 3 3");
    const struct meta_config *config =
        meta_image_config(d.image, META_RESOURCE_TOPIC, SLICE_LIT("__consumer_offsets"));
    assert_slice_eq(meta_config_get(config, SLICE_LIT("cleanup.policy")), "compact");
    assert_slice_eq(meta_config_get(config, SLICE_LIT("compression.type")), "producer");
    assert_slice_eq(meta_config_get(config, SLICE_LIT("segment.bytes")), "104857600");
    assert_int_equal(
        controller_auto_create_topic(begin(&d), SLICE_LIT("__consumer_offsets"), &text), ERR_NONE);
    end(&d);
    assert_records(&d, "");
    desk_close(&d);
}

static void partitions_are_added_and_topics_deleted(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    create(&d, "t", 1, 1, NULL, NULL, false);
    struct create_partitions_request grow;
    struct create_partitions_response grown;
    wire_init(&wire_create_partitions_request, &grow);
    create_partitions_request_topics_new(&d.kit.arena, &grow, 2);
    grow.topics[0].name = SLICE_LIT("t");
    grow.topics[0].count = 3;
    grow.topics[0].assignments_count = -1;
    grow.topics[1].name = SLICE_LIT("nope");
    grow.topics[1].count = 3;
    grow.topics[1].assignments_count = -1;
    controller_create_partitions(begin(&d), &grow, &grown);
    end(&d);
    assert_int_equal(grown.results[0].error_code, 0);
    assert_int_equal(grown.results[1].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(meta_image_topic(d.image, SLICE_LIT("t"))->partition_count, 3);
    grow.topics_count = 1;
    controller_create_partitions(begin(&d), &grow, &grown);
    end(&d);
    assert_int_equal(grown.results[0].error_code, ERR_INVALID_PARTITIONS);
    assert_slice_eq(grown.results[0].error_message, "Topic already has 3 partition(s).");

    struct delete_topics_request request;
    struct delete_topics_response response;
    wire_init(&wire_delete_topics_request, &request);
    delete_topics_request_topic_names_new(&d.kit.arena, &request, 3);
    request.topic_names[0] = SLICE_LIT("nope");
    request.topic_names[1] = request.topic_names[2] = SLICE_LIT("t");
    controller_delete_topics(begin(&d), &request, 5, &response);
    end(&d);
    assert_int_equal(response.responses_count, 2);
    assert_int_equal(response.responses[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(response.responses[1].error_code, ERR_INVALID_REQUEST);
    assert_records(&d, "");
    request.topic_names_count = 2;
    const uint8_t *in_image = meta_image_topic(d.image, SLICE_LIT("t"))->name.data;
    controller_delete_topics(begin(&d), &request, 5, &response);
    assert_ptr_not_equal(response.responses[1].name.data, in_image); /* it goes with the topic */
    end(&d);
    assert_slice_eq(response.responses[1].name, "t");
    assert_int_equal(response.responses[1].error_code, 0);
    assert_records(&d, "9");
    assert_int_equal(meta_image_topic_count(d.image), 0);
    desk_close(&d);
}

/* Too many partitions in all: 4.4.0 refuses the whole request, whatever else is wrong with it. What
 * is named twice, unknown, or would not grow adds nothing. */
static void too_many_partitions_in_all(void **state)
{
    (void)state;
    enum { MAX = 10000 };
    struct desk d;
    desk_open(&d, "");
    create(&d, "a", 1, 1, NULL, NULL, false);
    create(&d, "b", 1, 1, NULL, NULL, false);
    static const struct {
        const char *names[3];
        int32_t counts[3];
        bool refused;
    } cases[] = {
        {{"a"}, {MAX + 1}, false},
        {{"a"}, {MAX + 2}, true},
        {{"a", "b"}, {MAX, 2}, false},
        {{"a", "b"}, {MAX, 3}, true},
        {{"a", "b"}, {MAX + 1, 1}, false},
        {{"b", "a"}, {-5, MAX + 4}, true},
        {{"a", "none"}, {2, INT32_MAX}, false},
        {{"a", "a"}, {INT32_MAX, INT32_MAX}, false},
        {{"a", "a", "b"}, {2, 2, INT32_MAX}, true},
        {{"none", "b"}, {2, INT32_MAX}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct create_partitions_request request;
        struct create_partitions_response response;
        wire_init(&wire_create_partitions_request, &request);
        request.validate_only = true;
        create_partitions_request_topics_new(&d.kit.arena, &request, 3);
        request.topics_count = 0;
        for (int t = 0; t < 3 && cases[i].names[t]; t++) {
            request.topics[t].name = slice_str(cases[i].names[t]);
            request.topics[t].count = cases[i].counts[t];
            request.topics[t].assignments_count = -1;
            request.topics_count++;
        }
        controller_create_partitions(begin(&d), &request, &response);
        end(&d);
        if (cases[i].refused)
            assert_int_equal(response.results_count, request.topics_count);
        for (int32_t t = 0; t < response.results_count; t++)
            assert_int_equal(response.results[t].error_code == ERR_POLICY_VIOLATION,
                             cases[i].refused);
    }
    desk_close(&d);
}

/* The records of a 4.4.0 node around a stop: isr [], leader -1, ELR [1] when it stops; leader 1
 * again from the ELR when it comes back. */
static void leaders_over_a_clean_restart(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    create(&d, "t", 1, 1, NULL, NULL, false);
    controller_shutdown_self(begin(&d), 1);
    end(&d);
    assert_records(&d, "17 5 17");
    const struct meta_partition *p = meta_image_topic(d.image, SLICE_LIT("t"))->partitions[0];
    assert_int_equal(p->leader, -1);
    assert_int_equal(p->isr_count, 0);
    assert_int_equal(p->elr_count, 1);
    assert_int_equal(p->last_elr_count, 1);
    struct uuid dir = kit_id(77);
    struct meta_endpoint endpoint = {SLICE_LIT("PLAINTEXT"), SLICE_LIT("h"), 9092, 0};
    struct controller_registration self = {.node_id = 1,
                                           .incarnation = kit_id(2),
                                           .rack = SLICE_NULL,
                                           .broker_endpoints = &endpoint,
                                           .broker_endpoint_count = 1,
                                           .dirs = &dir,
                                           .dir_count = 1,
                                           .previous_epoch = 5};
    controller_register_self(begin(&d), &self);
    end(&d);
    assert_records(&d, "27 0 17 17 5");
    p = meta_image_topic(d.image, SLICE_LIT("t"))->partitions[0];
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 2);
    assert_int_equal(p->isr_count, 1);
    assert_int_equal(p->elr_count, 0);
    assert_int_equal(p->recovery_state, 0);
    assert_int_equal(meta_image_broker(d.image, 1)->epoch, 100);
    assert_true(meta_image_broker_is_active(d.image, 1));

    /* Killed: no clean shutdown file. It leads again as last known leader, recovering. */
    self.previous_epoch = -1;
    controller_register_self(begin(&d), &self);
    end(&d);
    assert_records(&d, "27 5 0 17 17 5");
    p = meta_image_topic(d.image, SLICE_LIT("t"))->partitions[0];
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 4);
    assert_int_equal(p->recovery_state, 1);
    assert_int_equal(p->last_elr_count, 0);
    desk_close(&d);
}

static struct conf_result alter(struct desk *d, int8_t type, const char *resource, const char *name,
                                const char *value)
{
    struct conf_op op = {slice_str(name), value ? CONF_OP_SET : CONF_OP_DELETE, slice_str(value)};
    struct controller_alteration a = {type, slice_str(resource), &op, 1, {ERR_NONE, SLICE_NULL}};
    controller_alter_configs(begin(d), &a, 1, false, false);
    end(d);
    return a.result;
}

static void configs_of_resources(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    create(&d, "t", 1, 1, NULL, NULL, false);
    struct conf_result r = alter(&d, META_RESOURCE_TOPIC, "t", "retention.ms", "7");
    assert_int_equal(r.error, 0);
    assert_records(&d, "4");
    r = alter(&d, META_RESOURCE_TOPIC, "t", "min.insync.replicas", "2");
    assert_records(&d, "4 28");
    r = alter(&d, META_RESOURCE_TOPIC, "nope", "retention.ms", "7");
    assert_int_equal(r.error, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_slice_eq(r.message, "The topic 'nope' does not exist.");
    r = alter(&d, META_RESOURCE_BROKER, "", "min.insync.replicas", NULL);
    assert_int_equal(r.error, ERR_INVALID_CONFIG);
    assert_slice_eq(r.message,
                    "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.");
    r = alter(&d, META_RESOURCE_BROKER, "1", "min.insync.replicas", "2");
    assert_slice_eq(r.message,
                    "Broker-level min.insync.replicas cannot be altered while ELR is enabled.");
    r = alter(&d, 99, "x", "a", "b");
    assert_int_equal(r.error, ERR_INVALID_REQUEST);
    struct conf_op op = {SLICE_LIT("consumer.session.timeout.ms"), CONF_OP_SET, SLICE_LIT("45000")};
    struct controller_alteration two[] = {
        {META_RESOURCE_GROUP, {(const uint8_t *)"a\0b", 3}, &op, 1, {ERR_NONE, SLICE_NULL}},
        {META_RESOURCE_GROUP, {(const uint8_t *)"a\0c", 3}, &op, 1, {ERR_NONE, SLICE_NULL}}};
    controller_alter_configs(begin(&d), two, 2, false, false);
    end(&d);
    assert_int_equal(two[0].result.error, 0);
    assert_int_equal(two[1].result.error, 0);
    assert_records(&d, "4 4");
    struct conf_op other = {SLICE_LIT("consumer.heartbeat.interval.ms"), CONF_OP_SET,
                            SLICE_LIT("5000")};
    two[0].ops = &other;
    controller_alter_configs(begin(&d), two, 1, true, false);
    end(&d);
    assert_int_equal(two[0].result.error, 0);
    assert_records(&d, "4 4"); /* the new one, and the old one taken away */
    desk_close(&d);
}

static struct update_features_response update(struct desk *d, const char *name, int16_t level,
                                              int8_t type)
{
    struct update_features_request request;
    struct update_features_response response;
    wire_init(&wire_update_features_request, &request);
    update_features_request_feature_updates_new(&d->kit.arena, &request, 1);
    request.feature_updates[0].feature = slice_str(name);
    request.feature_updates[0].max_version_level = level;
    request.feature_updates[0].upgrade_type = type;
    controller_update_features(begin(d), &request, 2, &response);
    end(d);
    return response;
}

/* As kafka-features showed on 4.4.0. */
static void features_go_up_and_down(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
#define FAILED "The update failed for all features since the following feature had an error: "
    struct update_features_response r = update(&d, "share.version", 1, 1);
    assert_slice_eq(r.error_message,
                    FAILED "Invalid update version 1 for feature share.version. Can't downgrade "
                           "the version of this feature without setting the upgrade type to "
                           "either safe or unsafe downgrade.");
    r = update(&d, "transaction.version", 3, 1);
    assert_slice_eq(r.error_message,
                    FAILED "Invalid update version 3 for feature transaction.version. Local "
                           "controller 1 only supports versions 0-2");
    r = update(&d, "foo", 1, 1);
    assert_slice_eq(r.error_message,
                    FAILED "Invalid update version 1 for feature foo. Local controller 1 does not "
                           "support this feature.");
    r = update(&d, "foo", 0, 2);
    assert_slice_eq(r.error_message,
                    FAILED "Invalid update version 0 for feature foo. Feature foo not found.");
    r = update(&d, "metadata.version", 32, 2);
    assert_slice_eq(r.error_message,
                    FAILED "Unsupported metadata.version downgrade from 33 to 32. Refusing to "
                           "perform the requested downgrade because it might delete metadata "
                           "information.");
    assert_int_equal(r.error_code, ERR_INVALID_UPDATE_VERSION);
    assert_records(&d, "");
    desk_close(&d);
}

static void assert_min_isr(struct desk *d, const char *broker, const char *expected)
{
    const struct meta_config *config =
        meta_image_config(d->image, META_RESOURCE_BROKER, slice_str(broker));
    struct slice value = meta_config_get(config, SLICE_LIT("min.insync.replicas"));
    if (expected)
        assert_slice_eq(value, expected);
    else
        assert_true(slice_is_null(value));
}

/* What 4.4.0 writes in front of the feature's level, or alterations could not mend it later. */
static void eligible_replicas_come_with_a_min_isr_of_the_cluster(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "min.insync.replicas=2\n");
    const char *elr = "eligible.leader.replicas.version";
    update(&d, elr, 0, 2);
    assert_records(&d, "12");
    alter(&d, META_RESOURCE_BROKER, "1", "min.insync.replicas", "3");
    alter(&d, META_RESOURCE_BROKER, "1", "message.max.bytes", "2000");
    struct update_features_response r = update(&d, elr, 9, 1);
    assert_int_equal(r.error_code, ERR_INVALID_UPDATE_VERSION);
    assert_records(&d, "");
    r = update(&d, elr, 1, 1);
    assert_int_equal(r.error_code, 0);
    assert_records(&d, "4 4 12");
    assert_min_isr(&d, "", "2");
    assert_min_isr(&d, "1", NULL);
    update(&d, elr, 1, 1); /* on already */
    assert_records(&d, "12");
    update(&d, elr, 0, 2);
    alter(&d, META_RESOURCE_BROKER, "", "min.insync.replicas", "4");
    update(&d, elr, 1, 1); /* nothing is missing */
    assert_records(&d, "12");
    assert_min_isr(&d, "", "4");
    desk_close(&d);
}

static void producer_ids_come_in_blocks(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    int64_t first;
    int32_t count;
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(controller_allocate_producer_ids(begin(&d), 1, 5, &first, &count),
                         ERR_NONE);
        end(&d);
        assert_int_equal(first, i * 1000);
        assert_int_equal(count, 1000);
    }
    assert_int_equal(meta_image_next_producer_id(d.image), 3000);
    assert_int_equal(controller_allocate_producer_ids(begin(&d), 1, 4, &first, &count),
                     ERR_STALE_BROKER_EPOCH);
    end(&d);
    desk_close(&d);
}

static void elections_and_reassignments_of_one_node(void **state)
{
    (void)state;
    struct desk d;
    desk_open(&d, "");
    create(&d, "t", 1, 1, NULL, NULL, false);
    struct elect_leaders_request request;
    struct elect_leaders_response response;
    wire_init(&wire_elect_leaders_request, &request);
    elect_leaders_request_topic_partitions_new(&d.kit.arena, &request, 1);
    request.topic_partitions[0].topic = SLICE_LIT("t");
    int32_t *ids = elect_leaders_request_topic_partitions_partitions_new(
        &d.kit.arena, &request.topic_partitions[0], 2);
    ids[1] = 9;
    controller_elect_leaders(begin(&d), &request, &response);
    end(&d);
    struct elect_leaders_response_partition_result *r =
        response.replica_election_results[0].partition_result;
    assert_int_equal(r[0].error_code, ERR_ELECTION_NOT_NEEDED);
    assert_int_equal(r[1].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_slice_eq(r[1].error_message, "No such partition as t-9");

    struct alter_partition_reassignments_request move;
    struct alter_partition_reassignments_response moved;
    wire_init(&wire_alter_partition_reassignments_request, &move);
    alter_partition_reassignments_request_topics_new(&d.kit.arena, &move, 1);
    move.topics[0].name = SLICE_LIT("t");
    alter_partition_reassignments_request_reassignable_topic_partitions_new(&d.kit.arena,
                                                                            &move.topics[0], 1);
    controller_alter_reassignments(begin(&d), &move, &moved); /* null replicas: cancel */
    end(&d);
    assert_int_equal(moved.responses[0].partitions[0].error_code, ERR_NO_REASSIGNMENT_IN_PROGRESS);
    int32_t two[] = {2};
    move.topics[0].partitions[0].replicas = two;
    move.topics[0].partitions[0].replicas_count = 1;
    controller_alter_reassignments(begin(&d), &move, &moved);
    end(&d);
    assert_int_equal(moved.responses[0].partitions[0].error_code, ERR_INVALID_REPLICA_ASSIGNMENT);
    struct list_partition_reassignments_request list;
    struct list_partition_reassignments_response listed;
    wire_init(&wire_list_partition_reassignments_request, &list);
    controller_list_reassignments(begin(&d), &list, &listed);
    end(&d);
    assert_int_equal(listed.topics_count, 0);
    desk_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_are_created_with_defaults_and_configs),
        cmocka_unit_test(what_create_topics_refuses),
        cmocka_unit_test(names_collide_with_topics_that_exist),
        cmocka_unit_test(many_names_beside_many_topics),
        cmocka_unit_test(the_offsets_topic_is_created_as_kafka_does),
        cmocka_unit_test(what_is_named_into_being_is_counted),
        cmocka_unit_test(partitions_are_added_and_topics_deleted),
        cmocka_unit_test(too_many_partitions_in_all),
        cmocka_unit_test(leaders_over_a_clean_restart),
        cmocka_unit_test(configs_of_resources),
        cmocka_unit_test(long_lists_cost_no_more_than_their_length),
        cmocka_unit_test(features_go_up_and_down),
        cmocka_unit_test(eligible_replicas_come_with_a_min_isr_of_the_cluster),
        cmocka_unit_test(producer_ids_come_in_blocks),
        cmocka_unit_test(elections_and_reassignments_of_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
