/* DescribeConfigs and ListConfigResources.
 *
 * conf/dynamic.h knows the entries of a resource; here is decided whether there is such a resource,
 * and for BROKER_LOGGER, which the diagnostics of this node answer. A resource type that cannot be
 * described refuses the whole request, as in Kafka; everything else is an error of its resource. */
#include "api/context.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/loggers.h"
#include "api/request.h"
#include "base/map.h"
#include "conf/documentation.h"
#include "conf/dynamic.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_describe_configs.h"
#include "wire_list_config_resources.h"

/* Entries in one answer: enough for every setting of some 25,000 topics, and an end to the memory
 * that one small request can ask for. */
enum { ENTRIES_MAX = 1000000 };
/* Bytes of names and values in one answer, as one value may have 32 KB. */
enum { TEXT_SIZE_MAX = 100 << 20 };

struct describing {
    struct request *request;
    const struct meta_image *image;
    struct map documentation[CONF_KIND_COUNT]; /* key -> struct slice *, its text */
    int64_t entry_count;                       /* in the answer so far */
    int64_t text_size;
};

static struct slice keep(struct describing *d, struct slice text)
{
    d->text_size += (int64_t)text.size;
    return arena_dup(&d->request->arena, text);
}

static enum err fail(struct describe_configs_response_describe_configs_result *to, enum err err,
                     struct slice text)
{
    to->error_message = text;
    return err;
}

static void add_synonyms(struct describing *d, const struct conf_entry *from,
                         struct describe_configs_response_describe_configs_resource_result *to)
{
    struct describe_configs_response_describe_configs_synonym *items =
        describe_configs_response_describe_configs_resource_result_synonyms_new(
            &d->request->arena, to, from->synonym_count);
    for (int32_t i = 0; i < from->synonym_count; i++) {
        items[i].name = keep(d, from->synonyms[i].name);
        items[i].value = keep(d, from->synonyms[i].value);
        items[i].source = (int8_t)from->synonyms[i].source;
    }
}

static enum conf_kind kind_of(int8_t resource_type)
{
    switch (resource_type) {
    case CONF_RESOURCE_TOPIC: return CONF_KIND_TOPIC;
    case CONF_RESOURCE_GROUP: return CONF_KIND_GROUP;
    case CONF_RESOURCE_CLIENT_METRICS: return CONF_KIND_CLIENT_METRICS;
    default: return CONF_KIND_BROKER;
    }
}

/* `name` lives as long as the request. */
static struct slice documentation(struct describing *d, enum conf_kind kind, struct slice name)
{
    struct arena *arena = &d->request->arena;
    struct slice *text = map_get(&d->documentation[kind], name);
    if (!text) {
        text = arena_alloc(arena, sizeof *text);
        *text = documentation_of(kind, name, arena);
        map_put(&d->documentation[kind], name, text);
    }
    return *text;
}

/* What conf_describe makes on the way is much larger than the answer and goes with each resource.
 */
static enum err describe_entries(
    struct describing *d, const struct describe_configs_request_describe_configs_resource *asked,
    struct describe_configs_response_describe_configs_result *to)
{
    const struct describe_configs_request *body = d->request->body;
    struct arena scratch;
    struct conf_entry *entries;
    int32_t count;
    arena_init(&scratch);
    conf_describe((enum conf_resource_type)asked->resource_type, asked->resource_name,
                  d->request->context->config,
                  meta_image_overrides(d->image, asked->resource_type, asked->resource_name),
                  asked->configuration_keys, asked->configuration_keys_count, &scratch, &entries,
                  &count);
    struct describe_configs_response_describe_configs_resource_result *items =
        describe_configs_response_describe_configs_result_configs_new(&d->request->arena, to,
                                                                      count);
    for (int32_t i = 0; i < count; i++) {
        items[i].name = keep(d, entries[i].name);
        items[i].value = keep(d, entries[i].value);
        items[i].read_only = entries[i].read_only;
        items[i].config_source = (int8_t)entries[i].source;
        items[i].is_sensitive = entries[i].sensitive;
        items[i].config_type = (int8_t)entries[i].type;
        items[i].documentation =
            body->include_documentation
                ? documentation(d, kind_of(asked->resource_type), items[i].name)
                : SLICE_NULL;
        if (body->include_synonyms)
            add_synonyms(d, &entries[i], &items[i]);
    }
    arena_fini(&scratch);
    return ERR_NONE;
}

static enum err describe_topic(
    struct describing *d, const struct describe_configs_request_describe_configs_resource *asked,
    struct describe_configs_response_describe_configs_result *to)
{
    struct slice text;
    enum err err = topic_name_check(asked->resource_name, &d->request->arena, &text);
    if (err)
        return fail(to, err, text);
    if (!meta_image_topic(d->image, asked->resource_name))
        return ERR_UNKNOWN_TOPIC_OR_PARTITION;
    return describe_entries(d, asked, to);
}

/* ERR_NONE when the name is this broker's id. */
static enum err check_broker_id(
    struct describing *d, const struct describe_configs_request_describe_configs_resource *asked,
    const char *other, struct describe_configs_response_describe_configs_result *to)
{
    struct arena *arena = &d->request->arena;
    int64_t id;
    if (!slice_to_i64(asked->resource_name, INT32_MIN, INT32_MAX, &id))
        return fail(to, ERR_INVALID_REQUEST,
                    arena_printf(arena, "Broker id must be an integer, but it is: %.*s",
                                 SLICE_FMT(asked->resource_name)));
    if (id != d->request->context->node_id)
        return fail(to, ERR_INVALID_REQUEST,
                    arena_printf(arena, "Unexpected broker id, expected %d %s %.*s",
                                 d->request->context->node_id, other,
                                 SLICE_FMT(asked->resource_name)));
    return ERR_NONE;
}

static bool is_asked(const struct describe_configs_request_describe_configs_resource *asked,
                     struct slice name)
{
    for (int32_t i = 0; i < asked->configuration_keys_count; i++) {
        if (slice_eq(asked->configuration_keys[i], name))
            return true;
    }
    return asked->configuration_keys_count <= 0;
}

static enum err describe_loggers(
    struct describing *d, const struct describe_configs_request_describe_configs_resource *asked,
    struct describe_configs_response_describe_configs_result *to)
{
    if (asked->resource_name.size == 0)
        return fail(to, ERR_INVALID_REQUEST, SLICE_LIT("Broker id must not be empty"));
    enum err err = check_broker_id(d, asked, "but received", to);
    if (err)
        return err;
    struct describe_configs_response_describe_configs_resource_result *items =
        describe_configs_response_describe_configs_result_configs_new(&d->request->arena, to,
                                                                      loggers_count());
    int32_t count = 0;
    for (int i = 0; i < loggers_count(); i++) {
        struct slice level, name = loggers_at(i, &level);
        if (!is_asked(asked, name))
            continue;
        items[count].name = name;
        items[count].value = level;
        items[count].config_source = CONF_SOURCE_BROKER_LOGGER;
        items[count].documentation = slice_str("");
        count++;
    }
    to->configs_count = count;
    return ERR_NONE;
}

static enum err describe_resource(
    struct describing *d, const struct describe_configs_request_describe_configs_resource *asked,
    struct describe_configs_response_describe_configs_result *to)
{
    struct slice name = asked->resource_name;
    switch (asked->resource_type) {
    case CONF_RESOURCE_TOPIC: return describe_topic(d, asked, to);
    case CONF_RESOURCE_BROKER:
        if (name.size > 0) {
            enum err err = check_broker_id(d, asked, "or empty string, but received", to);
            if (err)
                return err;
        }
        break;
    case CONF_RESOURCE_BROKER_LOGGER: return describe_loggers(d, asked, to);
    case CONF_RESOURCE_CLIENT_METRICS:
        if (name.size == 0)
            return fail(to, ERR_INVALID_REQUEST,
                        SLICE_LIT("Client metrics subscription name must not be empty"));
        break;
    case CONF_RESOURCE_GROUP:
        if (name.size == 0)
            return fail(to, ERR_INVALID_REQUEST, SLICE_LIT("Group name must not be empty"));
        break;
    default: break;
    }
    return describe_entries(d, asked, to);
}

static bool is_describable(int8_t type)
{
    return type == CONF_RESOURCE_TOPIC || type == CONF_RESOURCE_BROKER ||
           type == CONF_RESOURCE_BROKER_LOGGER || type == CONF_RESOURCE_CLIENT_METRICS ||
           type == CONF_RESOURCE_GROUP;
}

/* Kafka's text for an INVALID_REQUEST without one of its own. */
static const char invalid_request[] =
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details.";

static bool is_refused(const struct describe_configs_request *body)
{
    for (int32_t i = 0; i < body->resources_count; i++) {
        if (!is_describable(body->resources[i].resource_type))
            return true;
    }
    return false;
}

static void describe_configs(struct request *request)
{
    const struct describe_configs_request *body = request->body;
    struct describe_configs_response *response = request_response(request);
    struct describe_configs_response_describe_configs_result *results =
        describe_configs_response_results_new(&request->arena, response, body->resources_count);
    bool refused = is_refused(body);
    struct meta_image *image = quorum_image(request->context->quorum);
    struct describing d = {.request = request, .image = image};
    for (int kind = 0; kind < CONF_KIND_COUNT; kind++)
        map_init(&d.documentation[kind]);
    for (int32_t i = 0; i < body->resources_count; i++) {
        enum err err;
        results[i].resource_type = body->resources[i].resource_type;
        results[i].resource_name = body->resources[i].resource_name;
        results[i].error_message = slice_str("");
        if (refused)
            err = fail(&results[i], ERR_INVALID_REQUEST, slice_str(invalid_request));
        else if (d.entry_count >= ENTRIES_MAX || d.text_size >= TEXT_SIZE_MAX)
            err = fail(&results[i], ERR_INVALID_REQUEST,
                       SLICE_LIT("Too many resources in one request."));
        else
            err = describe_resource(&d, &body->resources[i], &results[i]);
        results[i].error_code = err_to_wire(err);
        d.entry_count += results[i].configs_count;
    }
    for (int kind = 0; kind < CONF_KIND_COUNT; kind++)
        map_fini(&d.documentation[kind]);
    request_reply(request, response);
    meta_image_unref(image);
}

/* ---- ListConfigResources ---- */

struct listing {
    struct request *request;
    const struct meta_image *image;
    struct list_config_resources_response *response;
    size_t room;
};

static void list_one(struct listing *list, struct slice name, int8_t type)
{
    struct list_config_resources_response *response = list->response;
    if ((size_t)response->config_resources_count >= list->room)
        return;
    struct list_config_resources_response_config_resource *item =
        &response->config_resources[response->config_resources_count++];
    item->resource_name = name;
    item->resource_type = type;
}

/* Groups and client metrics: those that have a setting. */
static void list_configured(struct listing *list, int8_t type)
{
    for (size_t i = 0; i < meta_image_config_count(list->image); i++) {
        const struct meta_config *config = meta_image_config_at(list->image, i);
        if (config->type == type)
            list_one(list, config->resource, type);
    }
}

static void list_brokers(struct listing *list, int8_t type)
{
    const struct endpoint *brokers;
    int32_t count = endpoints_all(list->request, list->image, false, &brokers);
    for (int32_t i = 0; i < count; i++)
        list_one(list, arena_printf(&list->request->arena, "%d", brokers[i].node_id), type);
}

static void list_resources(struct listing *list, uint64_t types)
{
    const struct meta_image *image = list->image;
    list->room = meta_image_config_count(image) + 2 * meta_image_broker_count(image) +
                 meta_image_topic_count(image);
    list_config_resources_response_config_resources_new(&list->request->arena, list->response,
                                                        (int32_t)list->room);
    list->response->config_resources_count = 0;
    if (types & UINT64_C(1) << CONF_RESOURCE_GROUP)
        list_configured(list, CONF_RESOURCE_GROUP);
    if (types & UINT64_C(1) << CONF_RESOURCE_CLIENT_METRICS)
        list_configured(list, CONF_RESOURCE_CLIENT_METRICS);
    if (types & UINT64_C(1) << CONF_RESOURCE_BROKER_LOGGER)
        list_brokers(list, CONF_RESOURCE_BROKER_LOGGER);
    if (types & UINT64_C(1) << CONF_RESOURCE_BROKER)
        list_brokers(list, CONF_RESOURCE_BROKER);
    if (!(types & UINT64_C(1) << CONF_RESOURCE_TOPIC))
        return;
    META_IMAGE_FOREACH_TOPIC(topic, image)
    list_one(list, topic->name, CONF_RESOURCE_TOPIC);
}

/* Bits of the resource types asked for; 0 when one of them cannot be listed. Version 0 has no
 * types: it lists client metrics. */
static uint64_t wanted_types(const struct request *request)
{
    const struct list_config_resources_request *body = request->body;
    if (request->version == 0)
        return UINT64_C(1) << CONF_RESOURCE_CLIENT_METRICS;
    if (body->resource_types_count == 0)
        return UINT64_MAX;
    uint64_t types = 0;
    for (int32_t i = 0; i < body->resource_types_count; i++) {
        if (!is_describable(body->resource_types[i]))
            return 0;
        types |= UINT64_C(1) << body->resource_types[i];
    }
    return types;
}

static void list_config_resources(struct request *request)
{
    struct list_config_resources_response *response = request_response(request);
    uint64_t types = wanted_types(request);
    if (types == 0) {
        response->error_code = ERR_UNSUPPORTED_VERSION;
        request_reply(request, response);
        return;
    }
    struct meta_image *image = quorum_image(request->context->quorum);
    struct listing list = {.request = request, .image = image, .response = response};
    list_resources(&list, types);
    request_reply(request, response);
    meta_image_unref(image);
}

API_FAMILY(api_configs, {WIRE_API_DESCRIBE_CONFIGS, API_BROKER | API_CONTROLLER, describe_configs},
           {WIRE_API_LIST_CONFIG_RESOURCES, API_BROKER, list_config_resources});
