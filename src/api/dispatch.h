/* From a frame to a handler: request header, API and version checks, body, handler.
 *
 * The table of handlers drives ApiVersions: an API without a handler on a listener is neither
 * served nor advertised there. Families (api/families.h) are one file each and export only their
 * table; to add an API, write its handler into its family's file and name the family there. */
#ifndef KLAMM_API_DISPATCH_H
#define KLAMM_API_DISPATCH_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_context;
struct conn;
struct frame;
struct request;

/* Kinds of listener, as bits. */
enum { API_BROKER = 1, API_CONTROLLER = 2 };

/* One served API. `handle` runs on the connection's loop and never blocks. */
struct api_handler {
    int16_t key;
    unsigned listeners;
    void (*handle)(struct request *request);
};

struct api_family {
    const struct api_handler *handlers;
    size_t count;
};

/* Defines the exported table of one file: API_FAMILY(api_groups, {11, API_BROKER, join_group}, ...)
 */
#define API_FAMILY(name, ...)                                          \
    static const struct api_handler name##_handlers[] = {__VA_ARGS__}; \
    const struct api_family name = {name##_handlers,                   \
                                    sizeof name##_handlers / sizeof name##_handlers[0]}

/* Versions served and announced; false when the API is not served on the listener. */
bool dispatch_versions(int16_t key, unsigned listener, bool unstable, int16_t *ret_min,
                       int16_t *ret_max);

/* One frame of a connection, on its loop: takes it over. Ends with the handler having the request,
 * or with the connection closed. */
void dispatch_frame(struct api_context *context, struct conn *conn, struct frame *frame);

/* The client sends no more, while a request of it is under way. On the loop. */
void dispatch_peer_closed(struct conn *conn);

/* The connection went away; its request under way, if any, learns it. On the loop. */
void dispatch_closed(struct conn *conn);

#endif
