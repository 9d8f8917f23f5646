/* The API keys: which versions Apache Kafka 4.4.0 serves, on which listeners, with which headers.
 * Constant tables made from schema/api-keys.tsv; pure, no lock. */
#ifndef KLAMM_WIRE_API_H
#define KLAMM_WIRE_API_H

#include "wire/codec.h"
#include "wire_api_keys.h" /* enum wire_api_key: WIRE_API_PRODUCE = 0 ... */
#include "wire_header.h"   /* struct request_header, struct response_header */

enum wire_api_flags {
    WIRE_API_ON_BROKER = 1,      /* served on broker listeners */
    WIRE_API_ON_CONTROLLER = 2,  /* served on controller listeners */
    WIRE_API_CLUSTER_ACTION = 4, /* needs CLUSTER_ACTION on the cluster */
    WIRE_API_FORWARDABLE = 8,    /* a broker passes it on to the active controller */
    WIRE_API_TELEMETRY = 16,     /* announced only when a metrics reporter takes client telemetry */
};

struct wire_api {
    int16_t key;
    const char *name;        /* "Produce" */
    const char *enum_name;   /* "PRODUCE", as tools print it */
    int16_t first, last;     /* versions that have a schema */
    int16_t last_stable;     /* above it only with unstable.api.versions.enable */
    int16_t announced_first; /* in ApiVersions; below `first` for Produce only (KAFKA-18659) */
    int16_t flexible;        /* first flexible version; INT16_MAX = none */
    unsigned flags;          /* enum wire_api_flags */
    const struct wire_schema *request, *response;
};

/* All APIs with at least one version, keys rising. */
extern const struct wire_api *const wire_apis;
extern const size_t wire_apis_count;

/* NULL for an unknown or removed key. */
const struct wire_api *wire_api_find(int key);

/* The highest version served. */
int wire_api_version_last(const struct wire_api *api, bool unstable);
bool wire_api_serves(const struct wire_api *api, int version, bool unstable);

/* 1 or 2; also for versions above the highest (ApiVersions must answer those). */
int wire_api_request_header_version(const struct wire_api *api, int version);
/* 0 or 1; always 0 for ApiVersions, whose response must be readable before versions are agreed. */
int wire_api_response_header_version(const struct wire_api *api, int version);

/* Reads the header of a request frame: the version is found from the API key and version it starts
 * with, client id may be null. ERR_INVALID_REQUEST: unknown or removed API key. ERR_MALFORMED: it
 * ends early. Whether the API version is served is the caller's check (wire_api_serves).
 * The client id is a view into the input. */
enum err wire_api_read_header(struct cursor *c, struct arena *a, struct request_header *ret_header);

/* Appends the header that a response to (api, version) starts with. */
void wire_api_put_response_header(const struct wire_api *api, int version, int32_t correlation_id,
                                  struct buf *out);

/* Appends a request's header; client_id may be null. */
void wire_api_put_request_header(const struct wire_api *api, int version, int32_t correlation_id,
                                 struct slice client_id, struct buf *out);

#endif
