/* The API table and the headers of requests and responses.
 *
 * KIP-511: the ApiVersions response always has header version 0, and an ApiVersions request of a
 * version nobody knows yet must still have a readable header. The client id keeps its old length
 * form in header version 2 (the schema says so), and the tag section follows even when it is null.
 * Pure; any thread. */
#include "wire/api.h"

#include "base/ensure.h"
#include "wire_messages.h"

static const struct wire_api table[] = {
#include "wire_apis.inc"
};

enum { COUNT = sizeof table / sizeof *table };

const struct wire_api *const wire_apis = table;
const size_t wire_apis_count = COUNT;

const struct wire_api *wire_api_find(int key)
{
    size_t low = 0, high = COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].key == key)
            return &table[middle];
        if (table[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int wire_api_version_last(const struct wire_api *api, bool unstable)
{
    return unstable ? api->last : api->last_stable;
}

bool wire_api_serves(const struct wire_api *api, int version, bool unstable)
{
    return version >= api->first && version <= wire_api_version_last(api, unstable);
}

int wire_api_request_header_version(const struct wire_api *api, int version)
{
    return version >= api->flexible ? 2 : 1;
}

int wire_api_response_header_version(const struct wire_api *api, int version)
{
    return version >= api->flexible && api->key != WIRE_API_API_VERSIONS ? 1 : 0;
}

enum err wire_api_read_header(struct cursor *c, struct arena *a, struct request_header *ret_header)
{
    struct cursor peek = *c;
    int key = cursor_i16(&peek);
    int version = cursor_i16(&peek);
    if (peek.failed)
        return ERR_MALFORMED;
    const struct wire_api *api = wire_api_find(key);
    if (!api)
        return ERR_INVALID_REQUEST;
    int header_version = wire_api_request_header_version(api, version);
    return wire_decode(&wire_request_header, header_version, c, a, ret_header);
}

void wire_api_put_response_header(const struct wire_api *api, int version, int32_t correlation_id,
                                  struct buf *out)
{
    buf_put_i32(out, correlation_id);
    if (wire_api_response_header_version(api, version) > 0)
        buf_put_uvarint(out, 0);
}

void wire_api_put_request_header(const struct wire_api *api, int version, int32_t correlation_id,
                                 struct slice client_id, struct buf *out)
{
    struct request_header header = {
        .request_api_key = api->key,
        .request_api_version = (int16_t)version,
        .correlation_id = correlation_id,
        .client_id = client_id,
    };
    enum err err = wire_encode(&wire_request_header, wire_api_request_header_version(api, version),
                               &header, out, NULL);
    ENSURE(err == ERR_NONE || err == ERR_TOO_LARGE);
}
