/* DeleteTopics and CreatePartitions; see controller.h. Each topic of a request stands for itself.
 */
#include "meta/controller_internal.h"

#include "base/map.h"
#include "wire_create_partitions.h"
#include "wire_delete_topics.h"
#include "wire_metadata_records.h"

/* What Kafka says where an error has no sentence of its own. */
#define TEXT_UNKNOWN_TOPIC    SLICE_LIT("This server does not host this topic-partition.")
#define TEXT_UNKNOWN_TOPIC_ID SLICE_LIT("This server does not host this topic ID.")

/* ---- DeleteTopics -----------------------------------------------------------------------------
 */

/* One thing asked for: by name (data not NULL) or by id. */
struct wanted {
    struct slice name;
    struct uuid id;
    const struct meta_topic *topic;
    enum err error;
    struct slice text;
    bool dropped; /* a repetition: the first one carries the answer */
};

static void refuse(struct wanted *w, enum err e, struct slice text)
{
    w->error = e;
    w->text = text;
}

static bool same(const struct wanted *a, const struct wanted *b)
{
    bool by_name = !slice_is_null(a->name);
    if (by_name != !slice_is_null(b->name))
        return false;
    return by_name ? slice_eq(a->name, b->name) : uuid_eq(&a->id, &b->id);
}

/* Same name or id twice: one answer, an error. Lists of a request are short or unique; the map
 * keeps long ones linear. */
static void find_repeats(struct wanted *list, int32_t count)
{
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < count; i++) {
        struct wanted *w = &list[i];
        if (w->error != ERR_NONE)
            continue;
        bool by_name = !slice_is_null(w->name);
        struct slice key = by_name ? w->name : slice_of(w->id.bytes, sizeof w->id.bytes);
        struct wanted *first = map_get(&seen, key);
        if (!first) {
            map_put(&seen, key, w);
        } else if (same(first, w)) {
            refuse(first, ERR_INVALID_REQUEST,
                   by_name ? SLICE_LIT("Duplicate topic name.") : SLICE_LIT("Duplicate topic id."));
            w->dropped = true;
        }
    }
    map_fini(&seen);
}

static void resolve(struct controller *c, struct wanted *w)
{
    if (w->error != ERR_NONE || w->dropped)
        return;
    if (!slice_is_null(w->name)) {
        w->topic = meta_image_topic(c->image, w->name);
        if (!w->topic)
            refuse(w, ERR_UNKNOWN_TOPIC_OR_PARTITION, TEXT_UNKNOWN_TOPIC);
    } else {
        w->topic = meta_image_topic_by_id(c->image, &w->id);
        if (!w->topic)
            refuse(w, ERR_UNKNOWN_TOPIC_ID, TEXT_UNKNOWN_TOPIC_ID);
    }
}

static struct wanted *collect(struct controller *c, const struct delete_topics_request *request,
                              int16_t version, int32_t *ret_count)
{
    int32_t count = version < 6 ? request->topic_names_count : request->topics_count;
    struct wanted *list = arena_array(c->arena, (size_t)count, sizeof *list);
    for (int32_t i = 0; i < count; i++) {
        if (version < 6) {
            list[i].name = request->topic_names[i];
            continue;
        }
        list[i].name = request->topics[i].name;
        list[i].id = request->topics[i].topic_id;
        bool has_id = !uuid_is_zero(&list[i].id);
        if (slice_is_null(list[i].name) && !has_id)
            refuse(&list[i], ERR_INVALID_REQUEST,
                   SLICE_LIT("Neither topic name nor id were specified."));
        else if (!slice_is_null(list[i].name) && has_id)
            refuse(&list[i], ERR_INVALID_REQUEST,
                   SLICE_LIT("You may not specify both topic name and topic id."));
    }
    *ret_count = count;
    return list;
}

/* A topic asked for by id and by name at once is not deleted. */
static void refuse_both(struct wanted *list, int32_t count)
{
    struct map by_id;
    map_init(&by_id);
    for (int32_t i = 0; i < count; i++) {
        struct wanted *w = &list[i];
        if (w->error != ERR_NONE || w->dropped)
            continue;
        struct slice key = slice_of(w->topic->id.bytes, sizeof w->topic->id.bytes);
        struct wanted *other = map_get(&by_id, key);
        if (!other) {
            map_put(&by_id, key, w);
            continue;
        }
        struct wanted *named = slice_is_null(w->name) ? other : w;
        (named == w ? other : w)->dropped = true;
        refuse(named, ERR_INVALID_REQUEST,
               SLICE_LIT("The provided topic name maps to an ID that was already supplied."));
    }
    map_fini(&by_id);
}

void controller_delete_topics(struct controller *c, const struct delete_topics_request *request,
                              int16_t version, struct delete_topics_response *response)
{
    int32_t count;
    struct wanted *list = collect(c, request, version, &count);
    bool enabled = config_bool(c->settings->config, BROKER_KEY_DELETE_TOPIC_ENABLE);
    if (enabled) {
        find_repeats(list, count);
        for (int32_t i = 0; i < count; i++)
            resolve(c, &list[i]);
        refuse_both(list, count);
    }
    wire_init(&wire_delete_topics_response, response);
    struct delete_topics_response_deletable_topic_result *results =
        delete_topics_response_responses_new(c->arena, response, count);
    int32_t at = 0;
    for (int32_t i = 0; i < count; i++) {
        struct wanted *w = &list[i];
        if (w->dropped)
            continue;
        struct delete_topics_response_deletable_topic_result *r = &results[at++];
        /* A copy: the topic goes with the image before the answer is encoded. */
        r->name = w->topic ? arena_dup(c->arena, w->topic->name) : w->name;
        r->topic_id = w->topic ? w->topic->id : w->id;
        if (!enabled)
            refuse(w, version < 3 ? ERR_INVALID_REQUEST : ERR_TOPIC_DELETION_DISABLED,
                   SLICE_LIT("Topic deletion is disabled."));
        r->error_code = err_to_wire(w->error);
        r->error_message = w->text;
        if (w->error != ERR_NONE)
            continue;
        struct remove_topic_record record;
        wire_init(&wire_remove_topic_record, &record);
        record.topic_id = w->topic->id;
        meta_records_add(c->records, &wire_remove_topic_record, 0, &record);
    }
    response->responses_count = at;
}

/* ---- CreatePartitions -------------------------------------------------------------------------
 */

static enum err say(struct slice *ret_text, enum err e, struct slice text)
{
    *ret_text = text;
    return e;
}

static enum err check_growth(struct controller *c,
                             const struct create_partitions_request_create_partitions_topic *want,
                             const struct meta_topic *topic, struct slice *ret_text)
{
    int32_t have = topic->partition_count;
    if (want->count == have)
        return say(ret_text, ERR_INVALID_PARTITIONS,
                   arena_printf(c->arena, "Topic already has %d partition(s).", have));
    if (want->count < have)
        return say(ret_text, ERR_INVALID_PARTITIONS,
                   arena_printf(c->arena,
                                "The topic %.*s currently has %d partition(s); %d would not be an "
                                "increase.",
                                SLICE_FMT(want->name), have, want->count));
    if (want->assignments_count >= 0 && want->assignments_count != want->count - have)
        return say(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                   arena_printf(c->arena,
                                "Attempted to add %d additional partition(s), but only %d "
                                "assignment(s) were specified.",
                                want->count - have, want->assignments_count));
    return ERR_NONE;
}

static enum err add_partition(struct controller *c, const struct meta_topic *topic, int32_t index,
                              const int32_t *replicas, int32_t count, bool manual,
                              struct slice *ret_text)
{
    struct meta_partition partition;
    if (controller_new_partition(c, replicas, count, &partition)) {
        controller_add_partition(c, &topic->id, index, &partition);
        return ERR_NONE;
    }
    if (manual)
        return say(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                   arena_printf(c->arena,
                                "All brokers specified in the manual partition assignment for "
                                "partition %d are fenced or in controlled shutdown.",
                                index));
    return say(ret_text, ERR_INVALID_REPLICATION_FACTOR,
               arena_printf(c->arena,
                            "Unable to replicate the partition %d time(s): All brokers are "
                            "currently fenced or in controlled shutdown.",
                            count));
}

static enum err grow_one(struct controller *c,
                         const struct create_partitions_request_create_partitions_topic *want,
                         struct slice *ret_text)
{
    const struct meta_topic *topic = meta_image_topic(c->image, want->name);
    if (!topic)
        return say(ret_text, ERR_UNKNOWN_TOPIC_OR_PARTITION, SLICE_NULL);
    enum err e = check_growth(c, want, topic, ret_text);
    const struct meta_partition *first = meta_topic_partition(topic, 0);
    if (e == ERR_NONE && !first)
        e = say(ret_text, ERR_UNKNOWN_SERVER_ERROR, SLICE_NULL);
    if (e != ERR_NONE)
        return e;
    int32_t have = topic->partition_count, added = want->count - have;
    int32_t replication = first->replica_count;
    bool manual = want->assignments_count >= 0;
    int32_t *placed = NULL;
    if (!manual)
        e = controller_place(c, have, added, replication, &placed, ret_text);
    for (int32_t i = 0; i < added && e == ERR_NONE; i++) {
        const int32_t *ids = manual ? want->assignments[i].broker_ids : placed + i * replication;
        if (manual)
            e = controller_check_assignment(c, ids, want->assignments[i].broker_ids_count,
                                            replication, ret_text);
        if (e == ERR_NONE)
            e = add_partition(c, topic, have + i, ids, replication, manual, ret_text);
    }
    return e;
}

/* For each topic of the request: is it the first of its name, and if so, does the name come again.
 * One pass, because a request may name a million. */
struct naming {
    bool first, repeated;
};

static struct naming *find_namings(struct controller *c,
                                   const struct create_partitions_request *request)
{
    struct naming *namings = arena_array(c->arena, (size_t)request->topics_count, sizeof *namings);
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < request->topics_count; i++) {
        struct naming *first = map_get(&seen, request->topics[i].name);
        namings[i].first = !first;
        if (first)
            first->repeated = true;
        else
            map_put(&seen, request->topics[i].name, &namings[i]);
    }
    map_fini(&seen);
    return namings;
}

/* Too many for one change of the metadata: refused as a whole, whatever else is wrong. */
static bool too_many(const struct controller *c, const struct create_partitions_request *request,
                     const struct naming *namings)
{
    int64_t added = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct create_partitions_request_create_partitions_topic *want = &request->topics[i];
        const struct meta_topic *topic = meta_image_topic(c->image, want->name);
        if (topic && namings[i].first && !namings[i].repeated &&
            want->count > topic->partition_count)
            added += want->count - topic->partition_count;
    }
    return added > CONTROLLER_RECORDS_MAX;
}

static void refuse_all(const struct create_partitions_request *request,
                       struct create_partitions_response *response)
{
    for (int32_t i = 0; i < request->topics_count; i++) {
        response->results[i].name = request->topics[i].name;
        response->results[i].error_code = ERR_POLICY_VIOLATION;
        response->results[i].error_message =
            SLICE_LIT("Excessively large number of additional partitions per request.");
    }
}

void controller_create_partitions(struct controller *c,
                                  const struct create_partitions_request *request,
                                  struct create_partitions_response *response)
{
    wire_init(&wire_create_partitions_response, response);
    struct create_partitions_response_create_partitions_topic_result *results =
        create_partitions_response_results_new(c->arena, response, request->topics_count);
    const struct naming *namings = find_namings(c, request);
    if (too_many(c, request, namings)) {
        refuse_all(request, response);
        return;
    }
    int32_t before = c->records->count, at = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        if (!namings[i].first)
            continue;
        struct create_partitions_response_create_partitions_topic_result *r = &results[at++];
        int32_t own = c->records->count;
        struct slice text = SLICE_NULL;
        enum err e = namings[i].repeated
                         ? say(&text, ERR_INVALID_REQUEST, SLICE_LIT("Duplicate topic name."))
                         : grow_one(c, &request->topics[i], &text);
        if (e != ERR_NONE)
            meta_records_cut(c->records, own);
        r->name = request->topics[i].name;
        r->error_code = err_to_wire(e);
        r->error_message = text;
    }
    response->results_count = at;
    if (request->validate_only)
        meta_records_cut(c->records, before);
}
