/* Metadata: brokers, topics and who leads their partitions.
 *
 * Which topics: null asks for all, as an empty list did in version 0; otherwise the named ones,
 * from version 12 on also by id. A name that is unknown is created when the client and
 * auto.create.topics.enable allow it, and the answer then waits for its leader.
 * The controller id is that of this node: clients send what is meant for the controller to any
 * broker, and Kafka names a broker for the same reason. */
#include "api/auto_topics.h"
#include "api/context.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/operations.h"
#include "api/request.h"
#include "base/map.h"
#include "conf/config.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_metadata.h"

struct metadata_walk {
    struct request *request;
    const struct meta_image *image;
    struct metadata_response *response;
};

/* What an auto-creation left behind. */
struct metadata_created {
    struct slice *names;
    enum err *errors;
    int32_t count;
};

static bool is_alive(const struct metadata_walk *walk, int32_t broker_id)
{
    const struct meta_broker *broker = meta_image_broker(walk->image, broker_id);
    return broker && !broker->fenced;
}

static void copy_ids(int32_t *to, const int32_t *from, int32_t count)
{
    if (count)
        memcpy(to, from, (size_t)count * sizeof *to);
}

static void add_partition(struct metadata_walk *walk, int32_t index,
                          const struct meta_partition *from,
                          struct metadata_response_metadata_response_partition *to)
{
    struct arena *arena = &walk->request->arena;
    to->partition_index = index;
    to->leader_id = is_alive(walk, from->leader) ? from->leader : -1;
    to->error_code = to->leader_id < 0 ? ERR_LEADER_NOT_AVAILABLE : ERR_NONE;
    to->leader_epoch = from->leader_epoch;
    copy_ids(metadata_response_metadata_response_partition_replica_nodes_new(arena, to,
                                                                             from->replica_count),
             from->replicas, from->replica_count);
    copy_ids(
        metadata_response_metadata_response_partition_isr_nodes_new(arena, to, from->isr_count),
        from->isr, from->isr_count);
    int32_t *offline = metadata_response_metadata_response_partition_offline_replicas_new(
        arena, to, from->replica_count);
    int32_t count = 0;
    for (int32_t i = 0; i < from->replica_count; i++) {
        if (meta_image_replica_is_offline(walk->image, from, from->replicas[i]))
            offline[count++] = from->replicas[i];
    }
    to->offline_replicas_count = count;
}

static void add_topic(struct metadata_walk *walk, const struct meta_topic *from,
                      struct metadata_response_metadata_response_topic *to)
{
    const struct metadata_request *body = walk->request->body;
    to->name = from->name;
    to->topic_id = from->id;
    to->is_internal = topic_name_is_internal(from->name);
    if (body->include_topic_authorized_operations && walk->request->version >= 8)
        to->topic_authorized_operations = OPERATIONS_OF_TOPIC;
    struct metadata_response_metadata_response_partition *items =
        metadata_response_metadata_response_topic_partitions_new(&walk->request->arena, to,
                                                                 from->partition_count);
    int32_t count = 0;
    for (int32_t i = 0; i < from->partition_count; i++) {
        const struct meta_partition *partition = meta_topic_partition(from, i);
        if (partition)
            add_partition(walk, i, partition, &items[count++]);
    }
    to->partitions_count = count;
}

static void add_all_topics(struct metadata_walk *walk)
{
    struct metadata_response_metadata_response_topic *items = metadata_response_topics_new(
        &walk->request->arena, walk->response, (int32_t)meta_image_topic_count(walk->image));
    size_t i = 0;
    META_IMAGE_FOREACH_TOPIC(topic, walk->image)
    add_topic(walk, topic, &items[i++]);
}

static bool is_valid_name(struct request *request, struct slice name)
{
    struct slice text;
    return topic_name_check(name, &request->arena, &text) == ERR_NONE;
}

static void add_unknown(struct metadata_walk *walk, bool by_id,
                        const struct metadata_request_metadata_request_topic *asked,
                        struct metadata_response_metadata_response_topic *to)
{
    to->topic_id = asked->topic_id;
    if (by_id) {
        to->name = SLICE_NULL;
        to->error_code = ERR_UNKNOWN_TOPIC_ID;
        return;
    }
    to->name = asked->name;
    to->is_internal = topic_name_is_internal(asked->name);
    if (!is_valid_name(walk->request, asked->name))
        to->error_code = ERR_INVALID_TOPIC_EXCEPTION;
    else
        to->error_code = ERR_UNKNOWN_TOPIC_OR_PARTITION; /* as well when it could not be made */
}

static const struct meta_topic *find(const struct meta_image *image, bool by_id,
                                     const struct metadata_request_metadata_request_topic *asked)
{
    return by_id ? meta_image_topic_by_id(image, &asked->topic_id)
                 : meta_image_topic(image, asked->name);
}

/* One topic id is enough for Kafka to look at ids alone, and at no name. */
static bool asks_by_id(const struct metadata_request *body)
{
    for (int32_t i = 0; i < body->topics_count; i++) {
        if (!uuid_is_zero(&body->topics[i].topic_id))
            return true;
    }
    return false;
}

static void add_named_topics(struct metadata_walk *walk)
{
    const struct metadata_request *body = walk->request->body;
    struct metadata_response_metadata_response_topic *items =
        metadata_response_topics_new(&walk->request->arena, walk->response, body->topics_count);
    bool by_id = asks_by_id(body);
    struct map seen;
    map_init(&seen);
    int32_t count = 0;
    for (int32_t i = 0; i < body->topics_count; i++) {
        const struct metadata_request_metadata_request_topic *asked = &body->topics[i];
        if (by_id && uuid_is_zero(&asked->topic_id))
            continue;
        if (map_put(&seen, by_id ? MAP_KEY(asked->topic_id) : asked->name, &items[count]))
            continue; /* each once, as in Kafka */
        const struct meta_topic *topic = find(walk->image, by_id, asked);
        if (topic)
            add_topic(walk, topic, &items[count++]);
        else
            add_unknown(walk, by_id, asked, &items[count++]);
    }
    map_fini(&seen);
    walk->response->topics_count = count;
}

static void add_brokers(struct metadata_walk *walk)
{
    const struct endpoint *from;
    int32_t count = endpoints_all(walk->request, walk->image, false, &from);
    struct metadata_response_metadata_response_broker *items =
        metadata_response_brokers_new(&walk->request->arena, walk->response, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].node_id = from[i].node_id;
        items[i].host = from[i].host;
        items[i].port = from[i].port;
        items[i].rack = from[i].rack;
    }
}

static bool asks_for_all(const struct request *request)
{
    const struct metadata_request *body = request->body;
    return body->topics_count < 0 || (request->version == 0 && body->topics_count == 0);
}

/* The image must live until the reply is encoded, so the answer is made and sent in one go. */
static void answer(struct request *request)
{
    struct meta_image *image = quorum_image(request->context->quorum);
    const struct metadata_request *body = request->body;
    struct metadata_walk walk = {request, image, request_response(request)};
    add_brokers(&walk);
    walk.response->cluster_id = request->context->cluster_id;
    walk.response->controller_id = request->context->node_id;
    if (body->include_cluster_authorized_operations && request->version >= 8 &&
        request->version <= 10)
        walk.response->cluster_authorized_operations = OPERATIONS_OF_CLUSTER;
    if (asks_for_all(request))
        add_all_topics(&walk);
    else
        add_named_topics(&walk);
    request_reply(request, walk.response);
    meta_image_unref(image);
}

/* Versions 10 and 11 have a topic id in the request that they do not serve. Later ones must have a
 * name where nothing has an id: Kafka fails there, with no error that says so. */
static enum err refusal(const struct request *request)
{
    const struct metadata_request *body = request->body;
    bool by_id = asks_by_id(body);
    for (int32_t i = 0; i < body->topics_count; i++) {
        bool named = body->topics[i].name.data != NULL;
        if (request->version < 12 && (!named || by_id))
            return ERR_INVALID_REQUEST;
        if (!named && !by_id)
            return ERR_UNKNOWN_SERVER_ERROR;
    }
    return ERR_NONE;
}

static void refuse(struct request *request, enum err err)
{
    const struct metadata_request *body = request->body;
    struct metadata_response *response = request_response(request);
    if (request->version >= 13)
        response->error_code = err_to_wire(err);
    struct metadata_response_metadata_response_topic *items =
        metadata_response_topics_new(&request->arena, response, body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].error_code = err_to_wire(err);
        items[i].name = body->topics[i].name.data ? body->topics[i].name : slice_str("");
        items[i].topic_id = body->topics[i].topic_id;
    }
    request_reply(request, response);
}

/* The unknown names that may be created; NULL when there are none. */
static struct metadata_created *find_creatable(struct request *request)
{
    const struct metadata_request *body = request->body;
    const struct config *config = request->context->config;
    if (!body->allow_auto_topic_creation || body->topics_count <= 0 || asks_by_id(body) ||
        !config_bool(config, BROKER_KEY_AUTO_CREATE_TOPICS_ENABLE))
        return NULL;
    struct metadata_created *created = NULL;
    struct meta_image *image = quorum_image(request->context->quorum);
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < body->topics_count; i++) {
        struct slice name = body->topics[i].name;
        if (!name.data || meta_image_topic(image, name) || !is_valid_name(request, name))
            continue;
        if (!created) {
            created = arena_alloc(&request->arena, sizeof *created);
            size_t count = (size_t)body->topics_count;
            created->names = arena_array(&request->arena, count, sizeof *created->names);
            created->errors = arena_array(&request->arena, count, sizeof *created->errors);
        }
        if (!map_put(&seen, name, created)) /* said twice, it is one topic */
            created->names[created->count++] = name;
    }
    map_fini(&seen);
    meta_image_unref(image);
    return created;
}

static void handle(struct request *request)
{
    enum err err = refusal(request);
    if (err) {
        refuse(request, err);
        return;
    }
    struct metadata_created *created = find_creatable(request);
    request->parked = created;
    if (created)
        auto_topics_create(request, created->names, created->count, created->errors, answer);
    else
        answer(request);
}

API_FAMILY(api_metadata, {WIRE_API_METADATA, API_BROKER, handle});
