/* ConsumerGroupHeartbeat (KIP-848), to say that groups of the consumer protocol are not served yet.
 *
 * Apache Kafka announces the API even where its operator switched the protocol off, and answers
 * UNSUPPORTED_VERSION; so does this node, for all groups. Clients end with a clear error by that
 * answer. Were the API not announced, the Java client would, but librdkafka 2.16 would wait for
 * ever without a word. Told once a minute at most; runs on the connection's loop. */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "os/diag.h"
#include "wire/api.h"
#include "wire_consumer_group_heartbeat.h"

#include <stdatomic.h>

#define TELL_NS INT64_C(60000000000)

static void tell(struct request *request, struct slice group_id)
{
    struct api_context *context = request->context;
    int64_t now_ns = io_mono_ns(context->io);
    int64_t last_ns = atomic_load(&context->consumer_protocol_told_ns);
    if (last_ns && now_ns - last_ns < TELL_NS)
        return;
    if (!atomic_compare_exchange_strong(&context->consumer_protocol_told_ns, &last_ns, now_ns))
        return;
    diag(
        DIAG_API, DIAG_WARN,
        "a consumer of group %.*s at %s wants group.protocol=consumer, which this version does not "
        "serve yet; set group.protocol=classic in its configuration",
        SLICE_FMT(group_id), request->client_host + 1);
}

static void consumer_group_heartbeat(struct request *request)
{
    const struct consumer_group_heartbeat_request *body = request->body;
    struct consumer_group_heartbeat_response *response = request_response(request);
    tell(request, body->group_id);
    response->error_code = ERR_UNSUPPORTED_VERSION;
    response->error_message =
        SLICE_LIT("The consumer group protocol is not served yet; use group.protocol=classic.");
    request_reply(request, response);
}

API_FAMILY(api_consumer_groups,
           {WIRE_API_CONSUMER_GROUP_HEARTBEAT, API_BROKER, consumer_group_heartbeat});
