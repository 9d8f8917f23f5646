/* FindCoordinator: who leads the partition that the name of a group or a transactional id falls on.
 *
 * A coordinator's topic is made when it is first asked for, and the answer waits until its
 * partitions have leaders. Share groups have no coordinator here yet: asked for one, the answer is
 * INVALID_REQUEST with a sentence. */
#include "api/auto_topics.h"
#include "api/context.h"
#include "api/coordinators.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/request.h"
#include "base/hash.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_find_coordinator.h"

enum key_type { KEY_GROUP = 0, KEY_TRANSACTION = 1, KEY_SHARE = 2 };

struct search {
    const struct meta_image *image;
    struct slice topic; /* of the coordinators */
    enum err created;   /* how making it went */
};

static void no_node(struct find_coordinator_response_coordinator *to, enum err err,
                    const char *message)
{
    to->error_code = err_to_wire(err);
    to->error_message = slice_str(message);
    to->node_id = -1;
    to->host = slice_str("");
    to->port = -1;
}

static void find_one(struct request *request, const struct search *search, struct slice key,
                     struct find_coordinator_response_coordinator *to)
{
    to->key = key;
    to->error_message = slice_str("");
    const struct meta_topic *topic = meta_image_topic(search->image, search->topic);
    struct endpoint endpoint;
    const struct meta_partition *partition =
        topic ? meta_topic_partition(topic, coordinator_partition(key, topic->partition_count))
              : NULL;
    if (!partition || !endpoints_find(request, search->image, partition->leader, &endpoint)) {
        /* Kafka has the sentence in the old form of the answer only. */
        no_node(to, ERR_COORDINATOR_NOT_AVAILABLE,
                request->version >= 4 ? "" : "The coordinator is not available.");
        return;
    }
    to->node_id = endpoint.node_id;
    to->host = endpoint.host;
    to->port = endpoint.port;
}

static void answer(struct request *request)
{
    const struct find_coordinator_request *body = request->body;
    struct search *search = request->parked;
    struct meta_image *image = quorum_image(request->context->quorum);
    search->image = image;
    struct find_coordinator_response *response = request_response(request);
    if (request->version >= 4) {
        struct find_coordinator_response_coordinator *items =
            find_coordinator_response_coordinators_new(&request->arena, response,
                                                       body->coordinator_keys_count);
        for (int32_t i = 0; i < body->coordinator_keys_count; i++)
            find_one(request, search, body->coordinator_keys[i], &items[i]);
    } else {
        struct find_coordinator_response_coordinator found = {0};
        find_one(request, search, body->key, &found);
        response->error_code = found.error_code;
        /* Kafka writes the name of the error that there is not. */
        response->error_message = found.error_code ? found.error_message : slice_str("NONE");
        response->node_id = found.node_id;
        response->host = found.host;
        response->port = found.port;
    }
    request_reply(request, response);
    meta_image_unref(image); /* `search` went with the request */
}

static void refuse(struct request *request, const char *message)
{
    const struct find_coordinator_request *body = request->body;
    struct find_coordinator_response *response = request_response(request);
    struct find_coordinator_response_coordinator one = {0};
    no_node(&one, ERR_INVALID_REQUEST, message);
    if (request->version >= 4) {
        struct find_coordinator_response_coordinator *items =
            find_coordinator_response_coordinators_new(&request->arena, response,
                                                       body->coordinator_keys_count);
        for (int32_t i = 0; i < body->coordinator_keys_count; i++) {
            items[i] = one;
            items[i].key = body->coordinator_keys[i];
        }
    } else {
        response->error_code = one.error_code;
        response->error_message = one.error_message;
        response->node_id = one.node_id;
        response->host = one.host;
        response->port = one.port;
    }
    request_reply(request, response);
}

static void handle(struct request *request)
{
    const struct find_coordinator_request *body = request->body;
    if (body->key_type < KEY_GROUP || body->key_type > KEY_SHARE) {
        refuse(request, "Unknown coordinator type.");
        return;
    }
    if (body->key_type == KEY_SHARE) {
        refuse(request, "Share groups are not served by this node yet.");
        return;
    }
    struct search *search = arena_alloc(&request->arena, sizeof *search);
    request->parked = search;
    struct coordinators *coordinators =
        body->key_type == KEY_GROUP ? request->context->groups : request->context->transactions;
    search->topic = coordinators_topic(coordinators);
    if (coordinators_partition_count(coordinators))
        answer(request);
    else
        auto_topics_create(request, &search->topic, 1, &search->created, answer);
}

API_FAMILY(api_find_coordinator, {WIRE_API_FIND_COORDINATOR, API_BROKER, handle});
