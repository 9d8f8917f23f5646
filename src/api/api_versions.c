/* ApiVersions: the APIs that have a handler on this listener, and the cluster's features.
 *
 * Versions below 4 cannot express a supported range that starts at 0 (clients of that time refuse
 * it), so such features are left out there. An invalid client name or version is answered with
 * INVALID_REQUEST (KIP-511). */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "conf/config.h"
#include "meta/features.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_api_versions.h"

static void add_apis(struct request *request, struct api_versions_response *response)
{
    struct api_versions_response_api_version *items =
        api_versions_response_api_keys_new(&request->arena, response, (int32_t)wire_apis_count);
    int32_t count = 0;
    for (size_t i = 0; i < wire_apis_count; i++) {
        struct api_versions_response_api_version *item = &items[count];
        item->api_key = wire_apis[i].key;
        if (dispatch_versions(item->api_key, request->listener, request->context->unstable_versions,
                              &item->min_version, &item->max_version))
            count++;
    }
    response->api_keys_count = count;
}

static void add_supported(struct request *request, struct api_versions_response *response)
{
    struct api_versions_response_supported_feature_key *items =
        api_versions_response_supported_features_new(&request->arena, response,
                                                     (int32_t)feature_count());
    int32_t count = 0;
    for (size_t i = 0; i < feature_count(); i++) {
        const struct feature *feature = feature_at(i);
        if (feature->min == 0 && request->version < 4)
            continue;
        items[count].name = slice_str(feature->name);
        items[count].min_version = feature->min;
        items[count].max_version = feature->max;
        count++;
    }
    response->supported_features_count = count;
}

static void add_level(struct api_versions_response *response, struct slice name, int16_t level)
{
    struct api_versions_response_finalized_feature_key *item =
        &response->finalized_features[response->finalized_features_count++];
    item->name = name;
    item->min_version_level = level;
    item->max_version_level = level;
}

/* kraft.version is no record of the metadata log but of the quorum. */
static void add_finalized(struct request *request, struct api_versions_response *response)
{
    struct meta_image *image = quorum_image(request->context->quorum);
    size_t known = meta_image_feature_count(image);
    api_versions_response_finalized_features_new(&request->arena, response, (int32_t)known + 1);
    response->finalized_features_count = 0;
    for (size_t i = 0; i < known; i++) {
        struct slice name;
        int16_t level = meta_image_feature_at(image, i, &name);
        if (level > 0)
            add_level(response, arena_dup(&request->arena, name), level);
    }
    int16_t kraft_version = quorum_kraft_version(request->context->quorum);
    if (kraft_version > 0)
        add_level(response, FEATURE_KRAFT_VERSION, kraft_version);
    response->finalized_features_epoch = meta_image_provenance(image)->offset;
    meta_image_unref(image);
}

/* Letters, digits, '.' and '-', the last two not at the ends. */
static bool is_valid_client_text(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool inner = c == '-' || c == '.';
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!plain && !(inner && i > 0 && i + 1 < text.size))
            return false;
    }
    return text.size > 0;
}

/* KIP-1242: a client that says which node of which cluster it means (both or neither) must have
 * reached it. */
static enum err check(const struct request *request)
{
    const struct api_versions_request *body = request->body;
    if (request->version >= 3 && (!is_valid_client_text(body->client_software_name) ||
                                  !is_valid_client_text(body->client_software_version)))
        return ERR_INVALID_REQUEST;
    bool names_cluster = body->cluster_id.data != NULL, names_node = body->node_id != -1;
    if (names_cluster != names_node)
        return ERR_INVALID_REQUEST;
    bool checks = request->listener != API_CONTROLLER; /* a controller does not look */
    if (checks && names_cluster &&
        (!slice_eq(body->cluster_id, request->context->cluster_id) ||
         body->node_id != request->context->node_id))
        return ERR_REBOOTSTRAP_REQUIRED;
    return ERR_NONE;
}

static void handle(struct request *request)
{
    struct api_versions_response *response = request_response(request);
    response->error_code = (int16_t)check(request);
    if (!response->error_code) {
        add_apis(request, response);
        if (request->version >= 3) {
            add_supported(request, response);
            add_finalized(request, response);
        }
    }
    request_reply(request, response);
}

API_FAMILY(api_versions, {WIRE_API_API_VERSIONS, API_BROKER | API_CONTROLLER, handle});
