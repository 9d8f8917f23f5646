/* Replay of registrations: RegisterBroker, UnregisterBroker, FenceBroker, UnfenceBroker,
 * BrokerRegistrationChange, RegisterController, UnregisterController; see edit.h. Called by edit.c.
 *
 * A change must name a registered broker and its epoch: anything else means that the log and its
 * snapshot do not belong together, and replay stops as it does in Kafka. */
#include "meta/edit_data.h"

#include "wire_metadata_records.h"

/* ---- objects in one block ---------------------------------------------------------------------
 */

static size_t endpoints_size(const struct meta_endpoint *endpoints, int32_t count)
{
    size_t size = (size_t)count * sizeof *endpoints;
    for (int32_t i = 0; i < count; i++)
        size += endpoints[i].name.size + endpoints[i].host.size;
    return size;
}

static size_t features_size(const struct meta_feature_range *features, int32_t count)
{
    size_t size = (size_t)count * sizeof *features;
    for (int32_t i = 0; i < count; i++)
        size += features[i].name.size;
    return size;
}

static struct slice copy_text(uint8_t **at, struct slice text)
{
    if (slice_is_null(text))
        return SLICE_NULL;
    struct slice copy = slice_of(*at, text.size);
    if (text.size)
        memcpy(*at, text.data, text.size);
    *at += text.size;
    return copy;
}

static void *take(uint8_t **at, size_t size)
{
    void *p = *at;
    *at += size;
    return p;
}

static void copy_endpoints(uint8_t **texts, struct meta_endpoint *to,
                           const struct meta_endpoint *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].name = copy_text(texts, from[i].name);
        to[i].host = copy_text(texts, from[i].host);
    }
}

static void copy_features(uint8_t **texts, struct meta_feature_range *to,
                          const struct meta_feature_range *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].name = copy_text(texts, from[i].name);
    }
}

static const struct uuid *copy_uuids(uint8_t **at, const struct uuid *from, int32_t count)
{
    struct uuid *to = take(at, count > 0 ? (size_t)count * sizeof *to : 0);
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static struct meta_broker *broker_new(const struct meta_broker *from)
{
    size_t uuids =
        (size_t)from->dir_count + (size_t)(from->cordoned_count > 0 ? from->cordoned_count : 0);
    struct meta_broker *b =
        meta_object_new(sizeof *b + endpoints_size(from->endpoints, from->endpoint_count) +
                        features_size(from->features, from->feature_count) +
                        uuids * sizeof(struct uuid) + from->rack.size + 1);
    uint8_t *at = (uint8_t *)(b + 1);
    *b = *from;
    struct meta_endpoint *endpoints = take(&at, (size_t)b->endpoint_count * sizeof *endpoints);
    struct meta_feature_range *features = take(&at, (size_t)b->feature_count * sizeof *features);
    b->dirs = copy_uuids(&at, from->dirs, from->dir_count);
    b->cordoned = copy_uuids(&at, from->cordoned, from->cordoned_count);
    copy_endpoints(&at, endpoints, from->endpoints, from->endpoint_count);
    copy_features(&at, features, from->features, from->feature_count);
    b->endpoints = endpoints;
    b->features = features;
    b->rack = copy_text(&at, from->rack);
    return b;
}

static struct meta_controller_node *controller_new(const struct meta_controller_node *from)
{
    struct meta_controller_node *c =
        meta_object_new(sizeof *c + endpoints_size(from->endpoints, from->endpoint_count) +
                        features_size(from->features, from->feature_count));
    uint8_t *at = (uint8_t *)(c + 1);
    *c = *from;
    struct meta_endpoint *endpoints = take(&at, (size_t)c->endpoint_count * sizeof *endpoints);
    struct meta_feature_range *features = take(&at, (size_t)c->feature_count * sizeof *features);
    copy_endpoints(&at, endpoints, from->endpoints, from->endpoint_count);
    copy_features(&at, features, from->features, from->feature_count);
    c->endpoints = endpoints;
    c->features = features;
    return c;
}

static void put_broker(struct meta_edit *edit, const struct meta_broker *value)
{
    uint8_t key[META_ID_KEY_SIZE];
    edit_put(&edit->image->brokers, &meta_object_type, meta_id_key(value->id, key),
             broker_new(value));
}

/* ---- records ----------------------------------------------------------------------------------
 */

enum err edit_register_broker(struct meta_edit *edit, const void *record)
{
    const struct register_broker_record *r = record;
    struct meta_endpoint *endpoints =
        arena_array(edit->arena, (size_t)r->end_points_count, sizeof *endpoints);
    for (int32_t i = 0; i < r->end_points_count; i++)
        endpoints[i] =
            (struct meta_endpoint){r->end_points[i].name, r->end_points[i].host,
                                   r->end_points[i].port, r->end_points[i].security_protocol};
    struct meta_feature_range *features =
        arena_array(edit->arena, (size_t)r->features_count, sizeof *features);
    for (int32_t i = 0; i < r->features_count; i++)
        features[i] =
            (struct meta_feature_range){r->features[i].name, r->features[i].min_supported_version,
                                        r->features[i].max_supported_version};
    put_broker(edit, &(struct meta_broker){
                         .id = r->broker_id,
                         .epoch = r->broker_epoch,
                         .incarnation = r->incarnation_id,
                         .fenced = r->fenced,
                         .in_controlled_shutdown = r->in_controlled_shutdown,
                         .is_migrating_zk = r->is_migrating_zk_broker,
                         .rack = r->rack,
                         .endpoint_count = r->end_points_count,
                         .feature_count = r->features_count,
                         .dir_count = r->log_dirs_count,
                         .cordoned_count = r->cordoned_log_dirs_count,
                         .endpoints = endpoints,
                         .features = features,
                         .dirs = r->log_dirs,
                         .cordoned = r->cordoned_log_dirs,
                     });
    return ERR_NONE;
}

/* The broker that a change names; NULL with an error text when id or epoch do not fit. */
static const struct meta_broker *broker_named(struct meta_edit *edit, const char *what, int32_t id,
                                              int64_t epoch)
{
    const struct meta_broker *broker = meta_image_broker(edit->image, id);
    if (broker && broker->epoch == epoch)
        return broker;
    if (broker)
        edit_corrupt(edit, "%s for broker %d with epoch %lld, but its epoch is %lld", what, id,
                     (long long)epoch, (long long)broker->epoch);
    else
        edit_corrupt(edit, "%s for broker %d, which is not registered", what, id);
    return NULL;
}

enum err edit_unregister_broker(struct meta_edit *edit, const void *record)
{
    const struct unregister_broker_record *r = record;
    if (!broker_named(edit, "UnregisterBrokerRecord", r->broker_id, r->broker_epoch))
        return ERR_CORRUPT;
    uint8_t key[META_ID_KEY_SIZE];
    edit_remove(&edit->image->brokers, &meta_object_type, meta_id_key(r->broker_id, key));
    return ERR_NONE;
}

static enum err set_fenced(struct meta_edit *edit, const char *what, int32_t id, int64_t epoch,
                           bool fenced)
{
    const struct meta_broker *broker = broker_named(edit, what, id, epoch);
    if (!broker)
        return ERR_CORRUPT;
    struct meta_broker value = *broker;
    value.fenced = fenced;
    put_broker(edit, &value);
    return ERR_NONE;
}

enum err edit_fence_broker(struct meta_edit *edit, const void *record)
{
    const struct fence_broker_record *r = record;
    return set_fenced(edit, "FenceBrokerRecord", r->id, r->epoch, true);
}

enum err edit_unfence_broker(struct meta_edit *edit, const void *record)
{
    const struct unfence_broker_record *r = record;
    return set_fenced(edit, "UnfenceBrokerRecord", r->id, r->epoch, false);
}

enum err edit_broker_change(struct meta_edit *edit, const void *record)
{
    const struct broker_registration_change_record *r = record;
    const struct meta_broker *broker =
        broker_named(edit, "BrokerRegistrationChangeRecord", r->broker_id, r->broker_epoch);
    if (!broker)
        return ERR_CORRUPT;
    if (r->fenced < -1 || r->fenced > 1 || r->in_controlled_shutdown < 0 ||
        r->in_controlled_shutdown > 1)
        return edit_corrupt(edit,
                            "BrokerRegistrationChangeRecord with fenced %d and "
                            "in_controlled_shutdown %d",
                            r->fenced, r->in_controlled_shutdown);
    struct meta_broker value = *broker;
    if (r->fenced != 0)
        value.fenced = r->fenced > 0;
    if (r->in_controlled_shutdown)
        value.in_controlled_shutdown = true;
    if (r->log_dirs_count > 0) {
        value.dirs = r->log_dirs;
        value.dir_count = r->log_dirs_count;
    }
    if (r->cordoned_log_dirs_count >= 0) {
        value.cordoned = r->cordoned_log_dirs;
        value.cordoned_count = r->cordoned_log_dirs_count;
    }
    put_broker(edit, &value);
    return ERR_NONE;
}

enum err edit_register_controller(struct meta_edit *edit, const void *record)
{
    const struct register_controller_record *r = record;
    struct meta_endpoint *endpoints =
        arena_array(edit->arena, (size_t)r->end_points_count, sizeof *endpoints);
    for (int32_t i = 0; i < r->end_points_count; i++)
        endpoints[i] =
            (struct meta_endpoint){r->end_points[i].name, r->end_points[i].host,
                                   r->end_points[i].port, r->end_points[i].security_protocol};
    struct meta_feature_range *features =
        arena_array(edit->arena, (size_t)r->features_count, sizeof *features);
    for (int32_t i = 0; i < r->features_count; i++)
        features[i] =
            (struct meta_feature_range){r->features[i].name, r->features[i].min_supported_version,
                                        r->features[i].max_supported_version};
    struct meta_controller_node value = {
        .id = r->controller_id,
        .incarnation = r->incarnation_id,
        .zk_migration_ready = r->zk_migration_ready,
        .endpoint_count = r->end_points_count,
        .feature_count = r->features_count,
        .endpoints = endpoints,
        .features = features,
    };
    uint8_t key[META_ID_KEY_SIZE];
    edit_put(&edit->image->controllers, &meta_object_type, meta_id_key(value.id, key),
             controller_new(&value));
    return ERR_NONE;
}

enum err edit_unregister_controller(struct meta_edit *edit, const void *record)
{
    const struct unregister_controller_record *r = record;
    if (!meta_image_controller(edit->image, r->controller_id))
        return edit_corrupt(edit,
                            "UnregisterControllerRecord for controller %d, which is not "
                            "registered",
                            r->controller_id);
    uint8_t key[META_ID_KEY_SIZE];
    edit_remove(&edit->image->controllers, &meta_object_type, meta_id_key(r->controller_id, key));
    return ERR_NONE;
}
