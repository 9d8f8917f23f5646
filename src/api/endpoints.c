/* Looking up a broker's endpoint for one connection. Any handler, on its loop. */
#include "api/endpoints.h"

#include "api/context.h"
#include "api/request.h"
#include "meta/image.h"
#include "net/conn.h"

bool endpoints_of(struct request *request, const struct meta_broker *broker,
                  struct endpoint *ret_endpoint)
{
    if (!request->conn)
        return false;
    const struct meta_endpoint *found =
        meta_broker_endpoint(broker, slice_str(conn_listener(request->conn)->name));
    if (!found)
        return false;
    struct slice host = found->host;
    int32_t port = found->port;
    struct io_address local;
    if (request->context->advertise_as_reached && broker->id == request->context->node_id &&
        request_local_address(request, &local)) {
        host = arena_dup(&request->arena, slice_str(local.host));
        port = local.port;
    }
    *ret_endpoint = (struct endpoint){broker->id, host, port, broker->rack, broker->fenced};
    return true;
}

bool endpoints_find(struct request *request, const struct meta_image *image, int32_t broker_id,
                    struct endpoint *ret_endpoint)
{
    const struct meta_broker *broker = meta_image_broker(image, broker_id);
    return broker && !broker->fenced && endpoints_of(request, broker, ret_endpoint);
}

int32_t endpoints_all(struct request *request, const struct meta_image *image, bool with_fenced,
                      const struct endpoint **ret_endpoints)
{
    size_t known = meta_image_broker_count(image);
    struct endpoint *endpoints = arena_array(&request->arena, known, sizeof *endpoints);
    int32_t count = 0;
    for (size_t i = 0; i < known; i++) {
        const struct meta_broker *broker = meta_image_broker_at(image, i);
        if ((with_fenced || !broker->fenced) && endpoints_of(request, broker, &endpoints[count]))
            count++;
    }
    *ret_endpoints = endpoints;
    return count;
}
