/* The addresses of nodes as a client should see them: by the name of the listener it came in by,
 * and on a node that advertises itself as reached, the very address of the connection. */
#ifndef KLAMM_API_ENDPOINTS_H
#define KLAMM_API_ENDPOINTS_H

#include "base/slice.h"

struct meta_broker;
struct meta_image;
struct request;

struct endpoint {
    int32_t node_id;
    struct slice host;
    int32_t port;
    struct slice rack; /* null = none */
    bool is_fenced;
};

/* The endpoint of a broker; false when it has none on the connection's listener, or the connection
 * is gone. Texts live as long as the request and the image. Loop thread. */
bool endpoints_of(struct request *request, const struct meta_broker *broker,
                  struct endpoint *ret_endpoint);

/* The same by id, for brokers that are alive (known and not fenced). */
bool endpoints_find(struct request *request, const struct meta_image *image, int32_t broker_id,
                    struct endpoint *ret_endpoint);

/* Those of all brokers, or of those that are alive; in the request's arena. Returns how many. */
int32_t endpoints_all(struct request *request, const struct meta_image *image, bool with_fenced,
                      const struct endpoint **ret_endpoints);

#endif
