/* The beginning and the early end of a request: for dispatch.c alone. Loop thread. */
#ifndef KLAMM_API_REQUEST_LIFE_H
#define KLAMM_API_REQUEST_LIFE_H

#include "api/request.h"

/* A request for a frame, which it takes over. It becomes the connection's user pointer. */
struct request *request_new(struct api_context *context, struct conn *conn, struct frame *frame);

/* The connection is gone: the request lets go of it and, when parked, is cancelled. */
void request_conn_closed(struct request *request);

#endif
