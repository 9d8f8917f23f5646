/* From a frame to its handler, on the connection's loop.
 *
 * As Kafka does: an unknown API, an API that this listener does not serve, a version outside of
 * what is served and a malformed header or body close the connection without an answer. The one
 * exception is ApiVersions above its highest version, which is answered in version 0 with
 * UNSUPPORTED_VERSION and the range of ApiVersions itself, so that the client can come lower. What
 * closes a connection is told once a second at most. */
#include "api/dispatch.h"

#include "api/context.h"
#include "api/families.h"
#include "api/request_life.h"
#include "net/conn.h"
#include "os/diag.h"
#include "wire/api.h"
#include "wire_api_versions.h"

#include <stdatomic.h>

enum {
    KEY_COUNT = 128,
    /* Memory that decoding one request may take: a fixed part, and a multiple of its size that the
     * densest arrays of structs stay below. */
    DECODE_SIZE_BASE = 4 << 20,
    DECODE_SIZE_FACTOR = 8,
};

#define API_FAMILY_ADDRESS(name) &name,
static const struct api_family *const families[] = {API_FAMILIES(API_FAMILY_ADDRESS)};
#undef API_FAMILY_ADDRESS

/* The handler of an API on a listener; NULL when it is not served there. */
static const struct api_handler *find(int16_t key, unsigned listener)
{
    static _Atomic(const struct api_handler *) known[KEY_COUNT];
    if (key < 0 || key >= KEY_COUNT)
        return NULL;
    const struct api_handler *found = atomic_load_explicit(&known[key], memory_order_acquire);
    for (size_t f = 0; !found && f < sizeof families / sizeof families[0]; f++) {
        for (size_t i = 0; i < families[f]->count; i++) {
            if (families[f]->handlers[i].key == key)
                found = &families[f]->handlers[i];
        }
    }
    if (!found)
        return NULL;
    atomic_store_explicit(&known[key], found, memory_order_release);
    return found->listeners & listener ? found : NULL;
}

bool dispatch_versions(int16_t key, unsigned listener, bool unstable, int16_t *ret_min,
                       int16_t *ret_max)
{
    const struct wire_api *api = wire_api_find(key);
    if (!api || !find(key, listener))
        return false;
    *ret_min = api->announced_first;
    *ret_max = (int16_t)wire_api_version_last(api, unstable);
    return true;
}

static void complain(struct request *request, const char *what, int key, int version)
{
    struct api_context *context = request->context;
    int64_t now_ns = io_mono_ns(context->io);
    int64_t last_ns = atomic_load(&context->complained_ns);
    if (last_ns && now_ns - last_ns < 1000000000)
        return;
    if (!atomic_compare_exchange_strong(&context->complained_ns, &last_ns, now_ns))
        return;
    const struct wire_api *api = wire_api_find(key);
    diag(DIAG_API, DIAG_WARN, "closing the connection from %s: %s (API key %d %s, version %d)",
         request->client_host + 1, what, key, api ? api->name : "unknown", version);
}

/* ApiVersions of a version that is not served. */
static void answer_version_fallback(struct request *request)
{
    request->version = 0;
    struct api_versions_response *response = request_response(request);
    response->error_code = ERR_UNSUPPORTED_VERSION;
    struct api_versions_response_api_version *item =
        api_versions_response_api_keys_new(&request->arena, response, 1);
    item->api_key = WIRE_API_API_VERSIONS;
    item->min_version = request->api->announced_first;
    item->max_version =
        (int16_t)wire_api_version_last(request->api, request->context->unstable_versions);
    request_reply(request, response);
}

/* NULL, or what is wrong. */
static const char *decode_body(struct request *request, struct cursor *c)
{
    const struct wire_schema *schema = request->api->request;
    request->body = arena_alloc(&request->arena, wire_schema_size(schema));
    request->arena.size_max = DECODE_SIZE_BASE + DECODE_SIZE_FACTOR * request->frame.size;
    enum err err = wire_decode(schema, request->version, c, &request->arena, request->body);
    request->arena.size_max = 0;
    if (err == ERR_NO_MEMORY)
        return "its request needs too much memory";
    if (err)
        return "malformed request";
    request_charge(request);
    return NULL;
}

/* NULL when the request was handed on, or what is wrong with it. */
static const char *dispatch(struct request *request, struct cursor *c,
                            const struct request_header *header)
{
    request->api = wire_api_find(header->request_api_key);
    if (!request->api)
        return "unknown API";
    request->handler = find(header->request_api_key, request->listener);
    if (!request->handler)
        return "API not served on this listener";
    request->version = header->request_api_version;
    request->correlation_id = header->correlation_id;
    request->client_id = arena_dup(&request->arena, header->client_id);
    if (!wire_api_serves(request->api, request->version, request->context->unstable_versions)) {
        if (request->api->key != WIRE_API_API_VERSIONS || request->version < 0)
            return "API version not served";
        answer_version_fallback(request);
        return NULL;
    }
    const char *wrong = decode_body(request, c);
    if (!wrong)
        request->handler->handle(request);
    return wrong;
}

void dispatch_frame(struct api_context *context, struct conn *conn, struct frame *frame)
{
    struct request *request = request_new(context, conn, frame);
    request->listener = conn_listener(conn)->controller ? API_CONTROLLER : API_BROKER;
    struct cursor c = cursor_of(frame_slice(&request->frame));
    struct request_header header;
    const char *wrong;
    if (request->frame.size < 4) {
        header = (struct request_header){.request_api_key = -1, .request_api_version = -1};
        wrong = "malformed request header";
    } else {
        header.request_api_key = be_i16(request->frame.data);
        header.request_api_version = be_i16(request->frame.data + 2);
        enum err err = wire_api_read_header(&c, &request->arena, &header);
        wrong = err == ERR_INVALID_REQUEST ? "unknown API"
                : err                      ? "malformed request header"
                                           : dispatch(request, &c, &header);
    }
    if (wrong) {
        complain(request, wrong, header.request_api_key, header.request_api_version);
        request_close(request);
    }
}

void dispatch_closed(struct conn *conn)
{
    struct request *request = conn_user(conn);
    if (!request)
        return;
    conn_set_user(conn, NULL);
    request_conn_closed(request);
}

void dispatch_peer_closed(struct conn *conn)
{
    struct request *request = conn_user(conn);
    if (request && request->peer_closed)
        request->peer_closed(request);
}
