/* CreateTopics and topics that come into being by being named; see controller.h. Checks in Kafka's
 * order: duplicates within the request, the name, collisions, existence, configs, partitions and
 * replication. Each topic stands for itself: one that is refused leaves no record.
 *
 * Name collisions ('.' against '_') are looked up in a map that a decision makes of all topics,
 * once for all names it creates: creation is rare next to everything that would have to keep an
 * index up to date. */
#include "meta/controller_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "conf/dynamic.h"
#include "meta/topic_name.h"
#include "wire_create_topics.h"
#include "wire_metadata_records.h"

static enum err fail(struct slice *ret_text, enum err e, struct slice text)
{
    *ret_text = text;
    return e;
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* Topics of the image by their unified name; those only that can collide. */
struct controller_names {
    struct map topics;
    struct arena arena; /* the keys */
};

void controller_forget_names(struct controller *c)
{
    if (!c->names)
        return;
    map_fini(&c->names->topics);
    arena_fini(&c->names->arena);
    mem_free(c->names);
    c->names = NULL;
}

static struct controller_names *names_of(struct controller *c)
{
    if (c->names)
        return c->names;
    struct controller_names *names = c->names = mem_zalloc(sizeof *names);
    map_init(&names->topics);
    arena_init(&names->arena);
    META_IMAGE_FOREACH_TOPIC(topic, c->image)
    {
        if (!topic_name_has_collision_chars(topic->name))
            continue;
        struct slice key = topic_name_unified(topic->name, &names->arena);
        map_put(&names->topics, key, (void *)(uintptr_t)topic);
    }
    return names;
}

/* Names of one request do not collide with each other, as in Kafka. */
static enum err check_name(struct controller *c, struct slice name, struct slice *ret_text)
{
    enum err e = topic_name_check(name, c->arena, ret_text);
    if (e != ERR_NONE)
        return e;
    if (meta_image_topic(c->image, name))
        return fail(ret_text, ERR_TOPIC_ALREADY_EXISTS,
                    arena_printf(c->arena, "Topic '%.*s' already exists.", SLICE_FMT(name)));
    if (!topic_name_has_collision_chars(name))
        return ERR_NONE;
    const struct meta_topic *other =
        map_get(&names_of(c)->topics, topic_name_unified(name, c->arena));
    if (!other)
        return ERR_NONE;
    return fail(ret_text, ERR_INVALID_TOPIC_EXCEPTION,
                arena_printf(c->arena, "Topic '%.*s' collides with existing topic: %.*s",
                             SLICE_FMT(name), SLICE_FMT(other->name)));
}

/* ---- configs ----------------------------------------------------------------------------------
 */

/* The request's configs, the last of equal names counting. */
static enum err collect_configs(struct controller *c,
                                const struct create_topics_request_creatable_topic *topic,
                                struct conf_pairs *ret_pairs, struct slice *ret_text)
{
    struct conf_pair *items = arena_array(c->arena, (size_t)topic->configs_count, sizeof *items);
    int32_t count = 0, null_count = 0;
    struct map places; /* name -> its item */
    struct buf nulls;
    map_init(&places);
    buf_init(&nulls);
    for (int32_t i = 0; i < topic->configs_count; i++) {
        struct slice name = topic->configs[i].name, value = topic->configs[i].value;
        if (slice_is_null(value)) {
            buf_put_str(&nulls, null_count++ ? "," : "");
            buf_put_slice(&nulls, name);
            continue;
        }
        struct conf_pair *item = map_get(&places, name);
        if (!item)
            map_put(&places, name, item = &items[count++]);
        *item = (struct conf_pair){name, value};
    }
    map_fini(&places);
    if (null_count)
        *ret_text = arena_printf(c->arena, "Null value not supported for topic configs: %.*s",
                                 SLICE_FMT(buf_slice(&nulls)));
    buf_fini(&nulls);
    if (null_count)
        return ERR_INVALID_CONFIG;
    *ret_pairs = (struct conf_pairs){items, count};
    struct conf_result checked =
        conf_validate(CONF_RESOURCE_TOPIC, topic->name, controller_config(c), *ret_pairs, c->arena);
    return checked.error == ERR_NONE ? ERR_NONE : fail(ret_text, checked.error, checked.message);
}

/* ---- partitions -------------------------------------------------------------------------------
 */

struct placement {
    struct meta_partition *partitions;
    int32_t count;
    int32_t replication;
};

static enum err place_manually(struct controller *c,
                               const struct create_topics_request_creatable_topic *topic,
                               struct placement *ret_placement, struct slice *ret_text)
{
    if (topic->replication_factor != -1)
        return fail(ret_text, ERR_INVALID_REQUEST,
                    SLICE_LIT("A manual partition assignment was specified, but replication "
                              "factor was not set to -1."));
    if (topic->num_partitions != -1)
        return fail(ret_text, ERR_INVALID_REQUEST,
                    SLICE_LIT("A manual partition assignment was specified, but numPartitions was "
                              "not set to -1."));
    int32_t count = topic->assignments_count, replication = -1;
    struct meta_partition *partitions = arena_array(c->arena, (size_t)count, sizeof *partitions);
    bool gap = false;
    for (int32_t i = 0; i < count; i++) {
        int32_t index = topic->assignments[i].partition_index;
        const int32_t *ids = topic->assignments[i].broker_ids;
        int32_t id_count = topic->assignments[i].broker_ids_count;
        for (int32_t j = 0; j < i; j++)
            if (topic->assignments[j].partition_index == index)
                return fail(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                            arena_printf(c->arena,
                                         "Found multiple manual partition assignments "
                                         "for partition %d",
                                         index));
        enum err e = controller_check_assignment(c, ids, id_count, replication, ret_text);
        if (e != ERR_NONE)
            return e;
        replication = id_count;
        struct meta_partition partition;
        if (!controller_new_partition(c, ids, id_count, &partition))
            return fail(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                        arena_printf(c->arena,
                                     "All brokers specified in the manual partition assignment for "
                                     "partition %d are fenced or in controlled shutdown.",
                                     index));
        if (index < 0 || index >= count)
            gap = true;
        else
            partitions[index] = partition;
    }
    if (gap)
        return fail(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                    SLICE_LIT("partitions should be a consecutive 0-based integer sequence"));
    *ret_placement = (struct placement){partitions, count, replication};
    return ERR_NONE;
}

static enum err place(struct controller *c,
                      const struct create_topics_request_creatable_topic *topic,
                      struct placement *ret_placement, struct slice *ret_text)
{
    if (topic->assignments_count > 0)
        return place_manually(c, topic, ret_placement, ret_text);
    if (topic->replication_factor < -1 || topic->replication_factor == 0)
        return fail(ret_text, ERR_INVALID_REPLICATION_FACTOR,
                    SLICE_LIT("Replication factor must be larger than 0, or -1 to use the default "
                              "value."));
    if (topic->num_partitions < -1 || topic->num_partitions == 0)
        return fail(ret_text, ERR_INVALID_PARTITIONS,
                    SLICE_LIT("Number of partitions was set to an invalid non-positive value."));
    const struct config *config = c->settings->config;
    int32_t count = topic->num_partitions;
    if (count == -1)
        count = (int32_t)config_int(config, BROKER_KEY_NUM_PARTITIONS);
    int32_t replication = topic->replication_factor;
    if (replication == -1)
        replication = (int32_t)config_int(config, BROKER_KEY_DEFAULT_REPLICATION_FACTOR);
    int32_t *ids;
    struct slice why;
    enum err e = controller_place(c, 0, count, replication, &ids, &why);
    struct meta_partition *partitions = arena_array(c->arena, (size_t)count, sizeof *partitions);
    for (int32_t i = 0; i < count && e == ERR_NONE; i++) {
        if (controller_new_partition(c, ids + i * replication, replication, &partitions[i]))
            continue;
        e = ERR_INVALID_REPLICATION_FACTOR;
        why = SLICE_LIT("All brokers are currently fenced or in controlled shutdown.");
    }
    if (e != ERR_NONE)
        return fail(ret_text, e,
                    arena_printf(c->arena, "Unable to replicate the partition %d time(s): %.*s",
                                 replication, SLICE_FMT(why)));
    *ret_placement = (struct placement){partitions, count, replication};
    return ERR_NONE;
}

/* ---- one topic --------------------------------------------------------------------------------
 */

static void describe_configs(struct controller *c, struct slice topic, struct conf_pairs pairs,
                             struct create_topics_response_creatable_topic_result *r)
{
    struct conf_entry *entries;
    int32_t count;
    conf_describe(CONF_RESOURCE_TOPIC, topic, controller_config(c), pairs, NULL, 0, c->arena,
                  &entries, &count);
    create_topics_response_creatable_topic_result_configs_new(c->arena, r, count);
    for (int32_t i = 0; i < count; i++) {
        r->configs[i].name = entries[i].name;
        /* Values may be those of the effective configuration, which ends with the decision. */
        r->configs[i].value = arena_dup(c->arena, entries[i].value);
        r->configs[i].read_only = entries[i].read_only;
        r->configs[i].config_source = (int8_t)entries[i].source;
        r->configs[i].is_sensitive = entries[i].sensitive;
    }
}

static enum err create_one(struct controller *c,
                           const struct create_topics_request_creatable_topic *topic,
                           struct create_topics_response_creatable_topic_result *r,
                           struct slice *ret_text)
{
    struct conf_pairs pairs = {NULL, 0};
    struct placement placement = {NULL, 0, 0};
    enum err e = check_name(c, topic->name, ret_text);
    if (e == ERR_NONE)
        e = collect_configs(c, topic, &pairs, ret_text);
    if (e == ERR_NONE)
        e = place(c, topic, &placement, ret_text);
    if (e != ERR_NONE)
        return e;
    struct topic_record record;
    wire_init(&wire_topic_record, &record);
    record.name = topic->name;
    record.topic_id = controller_uuid(c);
    meta_records_add(c->records, &wire_topic_record, 0, &record);
    struct conf_changes changes = {(struct conf_pair *)(uintptr_t)pairs.items, pairs.count};
    controller_add_configs(c, META_RESOURCE_TOPIC, topic->name, changes);
    for (int32_t i = 0; i < placement.count; i++)
        controller_add_partition(c, &record.topic_id, i, &placement.partitions[i]);
    if (!r)
        return ERR_NONE;
    r->topic_id = record.topic_id;
    r->num_partitions = placement.count;
    r->replication_factor = (int16_t)placement.replication;
    describe_configs(c, topic->name, pairs, r);
    return ERR_NONE;
}

/* ---- CreateTopics -----------------------------------------------------------------------------
 */

/* Marks names that occur more than once: value in the map is 1 or 2. */
static void count_names(const struct create_topics_request *request, struct map *names)
{
    static char once, twice;
    for (int32_t i = 0; i < request->topics_count; i++) {
        struct slice name = request->topics[i].name;
        map_put(names, name, map_get(names, name) ? &twice : &once);
    }
    for (int32_t i = 0; i < request->topics_count; i++)
        if (map_get(names, request->topics[i].name) == &once)
            map_remove(names, request->topics[i].name);
}

static void set_error(struct create_topics_response_creatable_topic_result *r, struct slice name,
                      enum err e, struct slice text)
{
    r->name = name;
    r->error_code = err_to_wire(e);
    r->error_message = text;
}

static int64_t requested_partitions(const struct controller *c,
                                    const struct create_topics_request *request)
{
    int64_t total = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct create_topics_request_creatable_topic *topic = &request->topics[i];
        if (topic->assignments_count > 0)
            total += topic->assignments_count;
        else if (topic->num_partitions > 0)
            total += topic->num_partitions;
        else if (topic->num_partitions == -1)
            total += config_int(c->settings->config, BROKER_KEY_NUM_PARTITIONS);
    }
    return total;
}

void controller_create_topics(struct controller *c, const struct create_topics_request *request,
                              struct create_topics_response *response)
{
    struct map twice;
    map_init(&twice);
    count_names(request, &twice);
    wire_init(&wire_create_topics_response, response);
    struct create_topics_response_creatable_topic_result *results =
        create_topics_response_topics_new(c->arena, response, request->topics_count);
    bool too_many = requested_partitions(c, request) > CONTROLLER_RECORDS_MAX;
    int32_t before = c->records->count, at = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct create_topics_request_creatable_topic *topic = &request->topics[i];
        struct slice text = SLICE_NULL;
        if (map_get(&twice, topic->name) || slice_eq_str(topic->name, "__cluster_metadata"))
            continue;
        struct create_topics_response_creatable_topic_result *r = &results[at++];
        enum err e = too_many ? fail(&text, ERR_POLICY_VIOLATION,
                                     SLICE_LIT("Excessively large number of partitions per "
                                               "request."))
                              : create_one(c, topic, r, &text);
        set_error(r, topic->name, e, text);
    }
    for (size_t i = 0; i < map_count(&twice); i++)
        set_error(&results[at++], twice.entries[i].key, ERR_INVALID_REQUEST,
                  SLICE_LIT("Duplicate topic name."));
    for (int32_t i = 0; i < request->topics_count; i++)
        if (slice_eq_str(request->topics[i].name, "__cluster_metadata") &&
            !map_get(&twice, request->topics[i].name))
            set_error(&results[at++], request->topics[i].name, ERR_INVALID_REQUEST,
                      SLICE_LIT("Creation of internal topic __cluster_metadata is prohibited."));
    response->topics_count = at;
    if (request->validate_only)
        meta_records_cut(c->records, before);
    map_fini(&twice);
}

/* ---- topics that are named into being ---------------------------------------------------------
 */

/* Kafka's own topics get settings that their coordinators rely on. */
struct internal_topic {
    const char *name;
    enum broker_key partitions, replication, segment_size, min_isr;
    bool has_min_isr;
    const char *cleanup, *compression;
    const char *more_name, *more_value; /* one setting more, or NULL */
};

static const struct internal_topic internal_topics[] = {
    {"__consumer_offsets", BROKER_KEY_OFFSETS_TOPIC_NUM_PARTITIONS,
     BROKER_KEY_OFFSETS_TOPIC_REPLICATION_FACTOR, BROKER_KEY_OFFSETS_TOPIC_SEGMENT_BYTES,
     BROKER_KEY_MIN_INSYNC_REPLICAS, false, "compact", "producer", NULL, NULL},
    {"__transaction_state", BROKER_KEY_TRANSACTION_STATE_LOG_NUM_PARTITIONS,
     BROKER_KEY_TRANSACTION_STATE_LOG_REPLICATION_FACTOR,
     BROKER_KEY_TRANSACTION_STATE_LOG_SEGMENT_BYTES, BROKER_KEY_TRANSACTION_STATE_LOG_MIN_ISR, true,
     "compact", "uncompressed", "unclean.leader.election.enable", "false"},
    {"__share_group_state", BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS,
     BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR,
     BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES,
     BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR, true, "delete", "producer", "retention.ms",
     "-1"},
};

/* NULL for a topic like any other. */
static const struct internal_topic *internal_topic(struct slice name)
{
    for (size_t i = 0; i < sizeof internal_topics / sizeof internal_topics[0]; i++)
        if (slice_eq_str(name, internal_topics[i].name))
            return &internal_topics[i];
    return NULL;
}

static void use_internal(struct controller *c, const struct internal_topic *kind,
                         struct create_topics_request_creatable_topic *topic)
{
    const struct config *config = controller_config(c);
    topic->num_partitions = (int32_t)config_int(config, kind->partitions);
    topic->replication_factor = (int16_t)config_int(config, kind->replication);
    struct create_topics_request_creatable_topic_config *entry =
        create_topics_request_creatable_topic_configs_new(c->arena, topic, 5);
    int32_t count = 0;
    entry[count].name = SLICE_LIT("compression.type");
    entry[count++].value = slice_str(kind->compression);
    entry[count].name = SLICE_LIT("cleanup.policy");
    entry[count++].value = slice_str(kind->cleanup);
    entry[count].name = SLICE_LIT("segment.bytes");
    entry[count++].value =
        arena_printf(c->arena, "%lld", (long long)config_int(config, kind->segment_size));
    if (kind->has_min_isr) {
        entry[count].name = SLICE_LIT("min.insync.replicas");
        entry[count++].value =
            arena_printf(c->arena, "%lld", (long long)config_int(config, kind->min_isr));
    }
    if (kind->more_name) {
        entry[count].name = slice_str(kind->more_name);
        entry[count++].value = slice_str(kind->more_value);
    }
    topic->configs_count = count;
}

bool controller_auto_create_fits(struct controller *c, const struct slice *names, int32_t count)
{
    const struct config *config = controller_config(c);
    int64_t total = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct internal_topic *kind = internal_topic(names[i]);
        if (!meta_image_topic(c->image, names[i]))
            total += config_int(config, kind ? kind->partitions : BROKER_KEY_NUM_PARTITIONS);
    }
    return total <= CONTROLLER_RECORDS_MAX;
}

enum err controller_auto_create_topic(struct controller *c, struct slice name,
                                      struct slice *ret_text)
{
    if (meta_image_topic(c->image, name))
        return ERR_NONE;
    struct create_topics_request_creatable_topic topic = {
        .name = name, .num_partitions = -1, .replication_factor = -1};
    const struct internal_topic *kind = internal_topic(name);
    if (kind)
        use_internal(c, kind, &topic);
    return create_one(c, &topic, NULL, ret_text);
}
