/* The administrator: creates and deletes topics, adds partitions, changes a config, deletes
 * records, and looks whether everything that was acknowledged is still so.
 *
 * A create or delete that was not answered leaves its topic in doubt for good: nobody uses it any
 * more. A config value that was not answered stays possible until a later one is. */
#include "base/mem.h"
#include "wire_api_versions.h"
#include "wire_create_partitions.h"
#include "wire_create_topics.h"
#include "wire_delete_records.h"
#include "wire_delete_topics.h"
#include "wire_describe_configs.h"
#include "wire_incremental_alter_configs.h"
#include "wire_list_offsets.h"
#include "wire_metadata.h"
#include "world.h"

enum { RESOURCE_TOPIC = 2, KEYS_MAX = 128, OPERATION_DELETE = 1, AUTO_PARTITIONS = 2 };

struct admin {
    struct actor actor;
    bool served[KEYS_MAX];
    bool asked;
    int checks;               /* since the finishing phase began */
    struct model_topic *wish; /* to be created by a Metadata request */
};

/* What a call was about. */
struct admin_note {
    struct model_topic *topic;
    struct model_partition *partition;
    int64_t value, watermark;
    int32_t count;
};

static struct admin *admin_of(struct client *client)
{
    return LIST_ITEM(client->owner, struct admin, actor);
}

static void *body_new(struct call *call, const struct wire_schema *schema)
{
    void *body = arena_alloc(&call->arena, wire_schema_size(schema));
    wire_init(schema, body);
    return body;
}

static struct call *call_new(struct admin *a, enum wire_api_key key, int first)
{
    return client_call_new(&a->actor.client, key, actor_version(&a->actor, key, first));
}

static struct admin_note *note_new(struct model_topic *topic)
{
    struct admin_note *note = mem_zalloc(sizeof *note);
    note->topic = topic;
    return note;
}

/* Errors that a healthy node may give for a while, or a sick one for longer. */
static void take_error(struct admin *a, const char *what, int code)
{
    enum err err = err_from_wire(code);
    bool passing = err == ERR_KAFKA_STORAGE_ERROR || err == ERR_NOT_CONTROLLER ||
                   err == ERR_REQUEST_TIMED_OUT || err == ERR_NOT_LEADER_OR_FOLLOWER ||
                   err == ERR_LEADER_NOT_AVAILABLE || err == ERR_INVALID_REPLICATION_FACTOR ||
                   err == ERR_UNKNOWN_SERVER_ERROR;
    if (err == ERR_NOT_CONTROLLER && a->actor.world->stopping)
        return;
    if (!passing || !world_is_troubled(a->actor.world))
        world_fail("%s was answered %s", what, err_name(err));
}

/* ---- topics ----------------------------------------------------------------------------------
 */

static void created(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    struct model_topic *topic = note->topic;
    const struct create_topics_response *r = call->response;
    if (r && r->topics_count != 1)
        world_fail("CreateTopics answered %d topics", r->topics_count);
    if (r && r->topics->error_code)
        take_error(admin_of(client), "CreateTopics", r->topics->error_code);
    if (r && !r->topics->error_code) {
        if (uuid_is_zero(&r->topics->topic_id) ||
            model_topic_by_id(&admin_of(client)->actor.world->model, &r->topics->topic_id))
            world_fail("%s: its topic id is zero or was given before", topic->name);
        topic->id = r->topics->topic_id;
        topic->state = MODEL_EXISTS;
        struct world *world = admin_of(client)->actor.world;
        if (!world->pinned)
            world->pinned = topic;
    }
    mem_free(note);
}

/* The settings of a compacted topic; returns how many. */
static int compact(struct admin *a, struct model_topic *topic, struct arena *arena,
                   struct create_topics_request_creatable_topic_config *configs)
{
    struct world *world = a->actor.world;
    topic->compacted = true;
    topic->tombstones_go = chance(world, 50);
    int count = 0;
    configs[count++] = (struct create_topics_request_creatable_topic_config){
        SLICE_LIT("cleanup.policy"),
        topic->retention ? SLICE_LIT("compact,delete") : SLICE_LIT("compact")};
    configs[count++] = (struct create_topics_request_creatable_topic_config){
        SLICE_LIT("min.cleanable.dirty.ratio"),
        chance(world, 50) ? SLICE_LIT("0.01") : SLICE_LIT("0.4")};
    configs[count++] = (struct create_topics_request_creatable_topic_config){
        SLICE_LIT("delete.retention.ms"),
        topic->tombstones_go ? arena_printf(arena, "%d", (int)between(world, 0, 3000))
                             : SLICE_LIT("9000000000000")};
    if (chance(world, 30))
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("min.compaction.lag.ms"),
            arena_printf(arena, "%d", (int)between(world, 0, 3000))};
    if (chance(world, 30))
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("max.compaction.lag.ms"),
            arena_printf(arena, "%d", (int)between(world, 3000, 9000))};
    return count;
}

static void create(struct admin *a)
{
    struct world *world = a->actor.world;
    struct model_topic *topic = model_topic_new(&world->model);
    if (!topic)
        return;
    topic->partition_count = (int32_t)between(world, 1, 4);
    topic->flushes = chance(world, 35);
    topic->retention = chance(world, 10);
    struct call *call = call_new(a, WIRE_API_CREATE_TOPICS, 7);
    struct create_topics_request *body = body_new(call, &wire_create_topics_request);
    struct create_topics_request_creatable_topic *item =
        create_topics_request_topics_new(&call->arena, body, 1);
    item->name = slice_str(topic->name);
    item->num_partitions = topic->partition_count;
    item->replication_factor = 1;
    enum { CONFIGS = 12 };
    struct create_topics_request_creatable_topic_config *configs =
        create_topics_request_creatable_topic_configs_new(&call->arena, item, CONFIGS);
    int count = 0;
    if (chance(world, 30))
        count = compact(a, topic, &call->arena, configs);
    if (topic->flushes)
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("flush.messages"), SLICE_LIT("1")};
    if (topic->retention)
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("retention.bytes"), SLICE_LIT("20000")};
    if (chance(world, 40))
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("segment.index.bytes"),
            arena_printf(&call->arena, "%d", (int)between(world, 24, 400))};
    if (chance(world, 40))
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("index.interval.bytes"),
            arena_printf(&call->arena, "%d", (int)between(world, 0, 2000))};
    if (chance(world, 30) || topic->compacted)
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("segment.ms"),
            arena_printf(&call->arena, "%d", (int)between(world, 100, 5000))};
    if (chance(world, 20))
        configs[count++] = (struct create_topics_request_creatable_topic_config){
            SLICE_LIT("internal.segment.bytes"),
            arena_printf(&call->arena, "%d", (int)between(world, 40000, 200000))};
    item->configs_count = count;
    client_call_send(&a->actor.client, call, body, true, created, note_new(topic));
}

static void deleted(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    const struct delete_topics_response *r = call->response;
    if (r && r->responses_count != 1)
        world_fail("DeleteTopics answered %d topics", r->responses_count);
    if (r && r->responses->error_code)
        take_error(admin_of(client), "DeleteTopics", r->responses->error_code);
    else if (r)
        note->topic->state = MODEL_DELETED;
    mem_free(note);
}

static void delete (struct admin *a, struct model_topic *topic)
{
    if (topic == a->actor.world->pinned)
        return;
    struct call *call = call_new(a, WIRE_API_DELETE_TOPICS, 1);
    struct delete_topics_request *body = body_new(call, &wire_delete_topics_request);
    body->timeout_ms = 10000;
    if (call->version >= 6) {
        struct delete_topics_request_delete_topic_state *item =
            delete_topics_request_topics_new(&call->arena, body, 1);
        if (chance(a->actor.world, 50))
            item->topic_id = topic->id;
        else
            item->name = slice_str(topic->name);
    } else {
        *delete_topics_request_topic_names_new(&call->arena, body, 1) = slice_str(topic->name);
    }
    topic->state = MODEL_UNKNOWN;
    client_call_send(&a->actor.client, call, body, true, deleted, note_new(topic));
}

static void widened(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    const struct create_partitions_response *r = call->response;
    if (r && r->results_count != 1)
        world_fail("CreatePartitions answered %d topics", r->results_count);
    /* INVALID_PARTITIONS: an earlier call that was not answered has done it. */
    if (r && r->results->error_code &&
        err_from_wire(r->results->error_code) != ERR_INVALID_PARTITIONS)
        take_error(admin_of(client), "CreatePartitions", r->results->error_code);
    else if (r && !r->results->error_code)
        note->topic->partition_count = note->count;
    mem_free(note);
}

static void widen(struct admin *a, struct model_topic *topic)
{
    if (topic->partition_count == MODEL_PARTITIONS_MAX)
        return;
    struct call *call = call_new(a, WIRE_API_CREATE_PARTITIONS, 0);
    struct create_partitions_request *body = body_new(call, &wire_create_partitions_request);
    body->timeout_ms = 10000;
    struct create_partitions_request_create_partitions_topic *item =
        create_partitions_request_topics_new(&call->arena, body, 1);
    item->name = slice_str(topic->name);
    item->count = topic->partition_count + 1;
    item->assignments_count = -1;
    struct admin_note *note = note_new(topic);
    note->count = item->count;
    client_call_send(&a->actor.client, call, body, true, widened, note);
}

/* A topic that comes of asking for it. */
static void wished(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    struct model_topic *topic = note->topic;
    struct admin *a = admin_of(client);
    const struct metadata_response *r = call->response;
    if (r && r->topics_count != 1)
        world_fail("Metadata for one topic answered %d", r->topics_count);
    enum err err = r ? err_from_wire(r->topics->error_code) : ERR_NONE;
    if (err && err != ERR_LEADER_NOT_AVAILABLE && err != ERR_UNKNOWN_TOPIC_OR_PARTITION)
        take_error(a, "Metadata with auto-creation", r->topics->error_code);
    if (r && !err && topic->state == MODEL_UNKNOWN) {
        if (r->topics->partitions_count != AUTO_PARTITIONS)
            world_fail("%s was made with %d partitions", topic->name, r->topics->partitions_count);
        if (uuid_is_zero(&r->topics->topic_id) ||
            model_topic_by_id(&a->actor.world->model, &r->topics->topic_id))
            world_fail("%s: its topic id is zero or was given before", topic->name);
        topic->id = r->topics->topic_id;
        topic->state = MODEL_EXISTS;
    }
    if (topic->state == MODEL_EXISTS)
        a->wish = NULL;
    mem_free(note);
}

/* Asked again until it is there: only its admin knows of it before. */
static void wish(struct admin *a)
{
    if (!a->wish) {
        a->wish = model_topic_new(&a->actor.world->model);
        if (!a->wish)
            return;
        a->wish->partition_count = AUTO_PARTITIONS;
    }
    struct call *call = call_new(a, WIRE_API_METADATA, 10);
    struct metadata_request *body = body_new(call, &wire_metadata_request);
    metadata_request_topics_new(&call->arena, body, 1)->name = slice_str(a->wish->name);
    body->allow_auto_topic_creation = true;
    client_call_send(&a->actor.client, call, body, true, wished, note_new(a->wish));
}

/* ---- configs ---------------------------------------------------------------------------------
 */

static void altered(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    struct model_topic *topic = note->topic;
    const struct incremental_alter_configs_response *r = call->response;
    if (r && !r->responses->error_code) {
        topic->config = note->value;
        topic->config_doubt_count = 0;
    } else {
        if (r)
            take_error(admin_of(client), "IncrementalAlterConfigs", r->responses->error_code);
        topic->config_doubts[topic->config_doubt_count++] = note->value;
    }
    mem_free(note);
}

static void alter(struct admin *a, struct model_topic *topic)
{
    struct world *world = a->actor.world;
    if (topic->config_doubt_count == MODEL_VALUES_MAX)
        return;
    struct call *call = call_new(a, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 0);
    struct incremental_alter_configs_request *body =
        body_new(call, &wire_incremental_alter_configs_request);
    struct incremental_alter_configs_request_alter_configs_resource *resource =
        incremental_alter_configs_request_resources_new(&call->arena, body, 1);
    resource->resource_type = RESOURCE_TOPIC;
    resource->resource_name = slice_str(topic->name);
    struct incremental_alter_configs_request_alterable_config *config =
        incremental_alter_configs_request_alter_configs_resource_configs_new(&call->arena, resource,
                                                                             1);
    struct admin_note *note = note_new(topic);
    note->value = INT64_C(10000000000000) + between(world, 0, 1000000);
    config->name = SLICE_LIT("retention.ms");
    config->value = arena_printf(&call->arena, "%lld", (long long)note->value);
    client_call_send(&a->actor.client, call, body, true, altered, note);
}

/* Settings that change how the log is written and kept while it is; retention.ms above is the one
 * whose value is read back. Of flush.messages the model must know when it holds. */
static void tuned(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    const struct incremental_alter_configs_response *r = call->response;
    if (r && r->responses->error_code)
        take_error(admin_of(client), "IncrementalAlterConfigs", r->responses->error_code);
    else if (r && note->value)
        note->topic->flushes_now = true;
    mem_free(note);
}

static void tune(struct admin *a, struct model_topic *topic)
{
    struct world *world = a->actor.world;
    struct call *call = call_new(a, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 0);
    struct incremental_alter_configs_request *body =
        body_new(call, &wire_incremental_alter_configs_request);
    struct incremental_alter_configs_request_alter_configs_resource *resource =
        incremental_alter_configs_request_resources_new(&call->arena, body, 1);
    resource->resource_type = RESOURCE_TOPIC;
    resource->resource_name = slice_str(topic->name);
    struct incremental_alter_configs_request_alterable_config *config =
        incremental_alter_configs_request_alter_configs_resource_configs_new(&call->arena, resource,
                                                                             1);
    struct admin_note *note = note_new(topic);
    switch (draw(world, 6)) {
    case 0:
        config->name = SLICE_LIT("flush.messages");
        config->value = SLICE_LIT("1");
        note->value = 1;
        break;
    case 1:
        config->name = SLICE_LIT("flush.messages");
        config->value = SLICE_NULL;
        config->config_operation = OPERATION_DELETE;
        for (int32_t i = 0; topic->flushes && i < topic->partition_count; i++)
            topic->partitions[i].synced_end = topic->partitions[i].acked_end;
        topic->flushes = topic->flushes_now = false;
        topic->flush_changes++;
        break;
    case 2:
        config->name = SLICE_LIT("retention.bytes");
        config->value = arena_printf(&call->arena, "%d", (int)between(world, 0, 100000));
        topic->retention = true;
        break;
    case 3:
        config->name = SLICE_LIT("segment.ms");
        config->value = arena_printf(&call->arena, "%d", (int)between(world, 50, 5000));
        break;
    case 4:
        config->name = SLICE_LIT("internal.segment.bytes");
        config->value = arena_printf(&call->arena, "%d", (int)between(world, 40000, 200000));
        break;
    default:
        config->name = SLICE_LIT("index.interval.bytes");
        config->value = arena_printf(&call->arena, "%d", (int)between(world, 0, 5000));
    }
    client_call_send(&a->actor.client, call, body, true, tuned, note);
}

static void described(struct client *client, struct call *call)
{
    (void)client;
    struct admin_note *note = call->argument;
    struct model_topic *topic = note->topic;
    const struct describe_configs_response *r = call->response;
    int64_t value = -1;
    if (!r || topic->state != MODEL_EXISTS)
        goto out;
    if (r->results_count != 1 || r->results->configs_count != 1)
        world_fail("DescribeConfigs of %s: error %d, %d results", topic->name,
                   r->results_count ? r->results->error_code : 0, r->results_count);
    slice_to_i64(r->results->configs->value, -1, INT64_MAX, &value);
    bool is_known = value == topic->config;
    for (int32_t i = 0; i < topic->config_doubt_count; i++)
        is_known |= value == topic->config_doubts[i];
    if (!is_known)
        world_fail("%s: retention.ms is %lld, acknowledged was %lld", topic->name, (long long)value,
                   (long long)topic->config);
out:
    mem_free(note);
}

static void describe(struct admin *a, struct model_topic *topic)
{
    struct call *call = call_new(a, WIRE_API_DESCRIBE_CONFIGS, 1);
    struct describe_configs_request *body = body_new(call, &wire_describe_configs_request);
    struct describe_configs_request_describe_configs_resource *resource =
        describe_configs_request_resources_new(&call->arena, body, 1);
    resource->resource_type = RESOURCE_TOPIC;
    resource->resource_name = slice_str(topic->name);
    *describe_configs_request_describe_configs_resource_configuration_keys_new(
        &call->arena, resource, 1) = SLICE_LIT("retention.ms");
    client_call_send(&a->actor.client, call, body, true, described, note_new(topic));
}

/* ---- records ---------------------------------------------------------------------------------
 */

static void trimmed(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    const struct delete_records_response *r = call->response;
    if (r && r->topics_count == 1 && r->topics->partitions_count == 1 &&
        note->topic->state == MODEL_EXISTS) {
        const struct delete_records_response_delete_records_partition_result *p =
            r->topics->partitions;
        /* A new partition that nobody has used yet: a slow disk may still be making it. */
        bool in_the_making = !note->watermark && world_is_slow(admin_of(client)->actor.world);
        if (p->error_code &&
            !(in_the_making && err_from_wire(p->error_code) == ERR_NOT_LEADER_OR_FOLLOWER))
            take_error(admin_of(client), "DeleteRecords", p->error_code);
        else if (!p->error_code && p->low_watermark < note->value)
            world_fail("%s-%d: records deleted below %lld, the low watermark is %lld",
                       note->topic->name, note->partition->index, (long long)note->value,
                       (long long)p->low_watermark);
    }
    mem_free(note);
}

static void trim(struct admin *a, struct model_topic *topic)
{
    struct world *world = a->actor.world;
    if (topic->compacted) /* refused: what only compaction takes away is not to be cut off */
        return;
    struct model_partition *p = &topic->partitions[draw(world, (uint64_t)topic->partition_count)];
    struct call *call = call_new(a, WIRE_API_DELETE_RECORDS, 0);
    struct delete_records_request *body = body_new(call, &wire_delete_records_request);
    body->timeout_ms = 10000;
    struct delete_records_request_delete_records_topic *item =
        delete_records_request_topics_new(&call->arena, body, 1);
    item->name = slice_str(topic->name);
    struct delete_records_request_delete_records_partition *part =
        delete_records_request_delete_records_topic_partitions_new(&call->arena, item, 1);
    struct admin_note *note = note_new(topic);
    note->partition = p;
    note->watermark = p->watermark > p->acked_end ? p->watermark : p->acked_end;
    note->value = between(world, 0, p->watermark);
    part->partition_index = p->index;
    part->offset = note->value;
    if (note->value > p->start_max)
        p->start_max = note->value;
    client_call_send(&a->actor.client, call, body, true, trimmed, note);
}

static void listed(struct client *client, struct call *call)
{
    struct admin_note *note = call->argument;
    const struct list_offsets_response *r = call->response;
    (void)client;
    if (r && r->topics_count == 1 && r->topics->partitions_count == 1 &&
        note->topic->state == MODEL_EXISTS && !r->topics->partitions->error_code) {
        int64_t offset = r->topics->partitions->offset;
        bool is_latest = note->value == -1;
        model_watermark(note->partition, note->watermark, is_latest ? offset : -1,
                        is_latest ? -1 : offset);
    }
    mem_free(note);
}

static void list_offsets(struct admin *a, struct model_topic *topic)
{
    struct world *world = a->actor.world;
    struct call *call = call_new(a, WIRE_API_LIST_OFFSETS, 1);
    struct list_offsets_request *body = body_new(call, &wire_list_offsets_request);
    body->replica_id = -1;
    struct list_offsets_request_list_offsets_topic *item =
        list_offsets_request_topics_new(&call->arena, body, 1);
    item->name = slice_str(topic->name);
    struct list_offsets_request_list_offsets_partition *part =
        list_offsets_request_list_offsets_topic_partitions_new(&call->arena, item, 1);
    struct admin_note *note = note_new(topic);
    note->partition = &topic->partitions[draw(world, (uint64_t)topic->partition_count)];
    note->value = -between(world, 1, 2);
    note->watermark = note->partition->watermark;
    part->partition_index = note->partition->index;
    part->timestamp = note->value;
    client_call_send(&a->actor.client, call, body, true, listed, note);
}

/* ---- checks ----------------------------------------------------------------------------------
 */

static void check_topic(const struct model_topic *topic, const struct metadata_response *r)
{
    const struct metadata_response_metadata_response_topic *found = NULL;
    for (int32_t i = 0; i < r->topics_count; i++)
        if (slice_eq_str(r->topics[i].name, topic->name))
            found = &r->topics[i];
    if (topic->state == MODEL_DELETED && found)
        world_fail("%s was deleted, and is there again", topic->name);
    if (topic->state != MODEL_EXISTS)
        return;
    if (!found || found->error_code)
        world_fail("%s was created, and is %s", topic->name, found ? "in error" : "gone");
    if (!uuid_eq(&found->topic_id, &topic->id))
        world_fail("%s has another topic id", topic->name);
    if (found->partitions_count < topic->partition_count)
        world_fail("%s has %d partitions, acknowledged were %d", topic->name,
                   found->partitions_count, topic->partition_count);
    for (int32_t i = 0; i < found->partitions_count; i++) {
        int32_t index = found->partitions[i].partition_index;
        const struct model_partition *p = &topic->partitions[index];
        if (index < MODEL_PARTITIONS_MAX && found->partitions[i].leader_epoch < p->epoch)
            world_fail("%s-%d: the leader epoch went back from %d to %d", topic->name, index,
                       p->epoch, found->partitions[i].leader_epoch);
    }
}

static void looked(struct client *client, struct call *call)
{
    struct admin *a = admin_of(client);
    struct world *world = a->actor.world;
    const struct metadata_response *r = call->response;
    if (!r)
        return;
    for (int32_t t = 0; t < world->model.topic_count; t++)
        check_topic(&world->model.topics[t], r);
    a->checks += world->finishing;
}

static void look(struct admin *a)
{
    struct call *call = call_new(a, WIRE_API_METADATA, 10);
    struct metadata_request *body = body_new(call, &wire_metadata_request);
    body->topics_count = -1;
    client_call_send(&a->actor.client, call, body, true, looked, NULL);
}

static void versions_told(struct client *client, struct call *call)
{
    struct admin *a = admin_of(client);
    const struct api_versions_response *r = call->response;
    if (!r)
        return;
    if (r->error_code)
        world_fail("ApiVersions was answered %d", r->error_code);
    for (int32_t i = 0; i < r->api_keys_count; i++)
        if (r->api_keys[i].api_key >= 0 && r->api_keys[i].api_key < KEYS_MAX)
            a->served[r->api_keys[i].api_key] = true;
    a->asked = true;
    a->actor.world->has_transactions = a->served[WIRE_API_END_TXN];
}

static void act(struct actor *actor)
{
    struct admin *a = LIST_ITEM(actor, struct admin, actor);
    struct world *world = actor->world;
    if (client_calls(&actor->client))
        return;
    if (!a->asked) {
        struct call *call = call_new(a, WIRE_API_API_VERSIONS, 0);
        struct api_versions_request *body = body_new(call, &wire_api_versions_request);
        body->client_software_name = SLICE_LIT("sim");
        body->client_software_version = SLICE_LIT("1");
        client_call_send(&actor->client, call, body, true, versions_told, NULL);
        return;
    }
    struct model_topic *topic = model_topic_any(&world->model, sim_random(world->sim));
    uint64_t what = draw(world, 100);
    bool configs =
        a->served[WIRE_API_INCREMENTAL_ALTER_CONFIGS] && a->served[WIRE_API_DESCRIBE_CONFIGS];
    if (world->finishing)
        what = topic && configs && chance(world, 50) ? 60 : 99;
    if (!topic && !world->finishing)
        create(a);
    else if (what < 8)
        create(a);
    else if (a->wish && chance(world, 50))
        wish(a);
    else if (what < 11)
        delete (a, topic);
    else if (what < 15)
        widen(a, topic);
    else if (what < 17 && !a->wish)
        wish(a);
    else if (what < 20 && configs)
        tune(a, topic);
    else if (what < 30 && configs)
        alter(a, topic);
    else if (what < 38)
        trim(a, topic);
    else if (what < 50)
        list_offsets(a, topic);
    else if (what < 80 && configs)
        describe(a, topic);
    else
        look(a);
}

static bool is_done(struct actor *actor)
{
    struct admin *a = LIST_ITEM(actor, struct admin, actor);
    return a->checks >= 2;
}

static void admin_free(struct actor *actor)
{
    actor_fini(actor);
    mem_free(LIST_ITEM(actor, struct admin, actor));
}

struct actor *admin_new(struct world *world)
{
    struct admin *a = mem_zalloc(sizeof *a);
    actor_init(&a->actor, world, "admin", 0);
    a->actor.pause_max_us = 100000;
    a->actor.act = act;
    a->actor.is_done = is_done;
    a->actor.free = admin_free;
    return &a->actor;
}
