/* UpdateFeatures, the bootstrap of a new cluster, and blocks of producer ids; see controller.h.
 *
 * A feature update is all or nothing. A level must be supported by this controller and by every
 * registered broker and controller, going down must be asked for, metadata.version does not go down
 * over a level that changed metadata, and what the other features need must be met. kraft.version
 * is no record of the metadata: the decision tells the quorum driver to write what goes with it. */
#include "meta/controller_internal.h"

#include "wire_metadata_records.h"
#include "wire_update_features.h"

enum upgrade_type { UPGRADE = 1, SAFE_DOWNGRADE = 2, UNSAFE_DOWNGRADE = 3 };
enum { PRODUCER_ID_BLOCK_SIZE = 1000 };

static void add_feature(struct controller *c, struct slice name, int16_t level)
{
    struct feature_level_record r;
    wire_init(&wire_feature_level_record, &r);
    r.name = name;
    r.feature_level = level;
    meta_records_add(c->records, &wire_feature_level_record, 0, &r);
}

static void add_min_isr(struct controller *c, struct slice broker, struct slice value)
{
    struct config_record r;
    wire_init(&wire_config_record, &r);
    r.resource_type = META_RESOURCE_BROKER;
    r.resource_name = broker;
    r.name = MIN_ISR;
    r.value = value;
    meta_records_add(c->records, &wire_config_record, 0, &r);
}

/* With eligible leader replicas, min.insync.replicas is the cluster's and no broker's: what is
 * missing for that is written when they are turned on, as alterations then refuse to mend it. */
static void add_elr_safety(struct controller *c)
{
    const struct meta_config *cluster =
        meta_image_config(c->image, META_RESOURCE_BROKER, SLICE_LIT(""));
    int64_t own = config_int(c->settings->config, BROKER_KEY_MIN_INSYNC_REPLICAS);
    if (!cluster || slice_is_null(meta_config_get(cluster, MIN_ISR)))
        add_min_isr(c, SLICE_LIT(""), arena_printf(c->arena, "%lld", (long long)own));
    for (size_t i = 0; i < meta_image_config_count(c->image); i++) {
        const struct meta_config *config = meta_image_config_at(c->image, i);
        if (config->type == META_RESOURCE_BROKER && config->resource.size > 0 &&
            !slice_is_null(meta_config_get(config, MIN_ISR)))
            add_min_isr(c, config->resource, SLICE_NULL);
    }
}

/* ---- what is supported ------------------------------------------------------------------------
 */

static struct slice unsupported(struct controller *c, const char *who, int32_t id, int16_t min,
                                int16_t max, bool known)
{
    if (!known || max == 0)
        return arena_printf(c->arena, "%s %d does not support this feature.", who, id);
    return arena_printf(c->arena, "%s %d only supports versions %d-%d", who, id, min, max);
}

static struct slice check_ranges(struct controller *c, const char *who, int32_t id,
                                 const struct meta_feature_range *ranges, int32_t count,
                                 struct slice name, int16_t level)
{
    for (int32_t i = 0; i < count; i++) {
        if (!slice_eq(ranges[i].name, name))
            continue;
        if (level >= ranges[i].min && level <= ranges[i].max)
            return SLICE_NULL;
        return unsupported(c, who, id, ranges[i].min, ranges[i].max, true);
    }
    return level == 0 ? SLICE_NULL : unsupported(c, who, id, 0, 0, false);
}

/* Null when everybody supports the level. */
static struct slice why_not_supported(struct controller *c, struct slice name, int16_t level)
{
    const struct feature *own = feature_find(name);
    int32_t node = c->settings->node_id;
    if (!own || level < own->min || level > own->max)
        return unsupported(c, "Local controller", node, own ? own->min : 0, own ? own->max : 0,
                           own != NULL);
    for (size_t i = 0; i < meta_image_broker_count(c->image); i++) {
        const struct meta_broker *b = meta_image_broker_at(c->image, i);
        struct slice why =
            check_ranges(c, "Broker", b->id, b->features, b->feature_count, name, level);
        if (!slice_is_null(why))
            return why;
    }
    for (size_t i = 0; i < meta_image_controller_count(c->image); i++) {
        const struct meta_controller_node *n = meta_image_controller_at(c->image, i);
        struct slice why = n->id == node ? SLICE_NULL
                                         : check_ranges(c, "Controller", n->id, n->features,
                                                        n->feature_count, name, level);
        if (!slice_is_null(why))
            return why;
    }
    return SLICE_NULL;
}

/* ---- one update -------------------------------------------------------------------------------
 */

static int16_t current_level(struct controller *c, struct slice name)
{
    if (slice_eq(name, FEATURE_KRAFT_VERSION))
        return c->settings->kraft_dynamic ? 1 : 0;
    return meta_image_feature(c->image, name);
}

/* The level that the request proposes, or the one in force. */
static int16_t proposed_level(struct controller *c, const struct update_features_request *request,
                              struct slice name)
{
    for (int32_t i = 0; i < request->feature_updates_count; i++)
        if (slice_eq(request->feature_updates[i].feature, name))
            return request->feature_updates[i].max_version_level;
    return current_level(c, name);
}

static struct slice why_metadata_refused(struct controller *c, int16_t from, int16_t to,
                                         bool unsafe)
{
    if (to >= from)
        return SLICE_NULL;
    bool changed = false;
    for (int16_t level = from; level > to; level--) {
        const struct meta_version *version = meta_version_find(level);
        changed = changed || (version && version->metadata_changed);
    }
    if (!changed)
        return SLICE_NULL;
    return arena_printf(c->arena, "Unsupported metadata.version downgrade from %d to %d. %s", from,
                        to,
                        unsafe ? "Unsafe metadata downgrade is not supported in this version."
                               : "Refusing to perform the requested downgrade because it might "
                                 "delete metadata information.");
}

static struct slice why_dependencies_fail(struct controller *c,
                                          const struct update_features_request *request,
                                          struct slice name, int16_t level)
{
    struct slice other;
    int16_t needed;
    for (size_t i = 0; feature_need(name, level, i, &other, &needed); i++)
        if (proposed_level(c, request, other) < needed)
            return arena_printf(c->arena,
                                "%.*s could not be set to %d because it depends on %.*s level %d",
                                SLICE_FMT(name), level, SLICE_FMT(other), needed);
    return SLICE_NULL;
}

/* Null when the update may be done; else the sentence that refuses it. */
static struct slice why_refused(struct controller *c, const struct update_features_request *request,
                                const struct update_features_request_feature_update_key *update)
{
    struct slice name = update->feature;
    int16_t level = update->max_version_level, now = current_level(c, name);
    /* Version 0 has a flag instead, which 4.4 does not look at: always an upgrade. */
    int type = update->upgrade_type;
    struct slice why = SLICE_NULL;
    if (type < UPGRADE || type > UNSAFE_DOWNGRADE)
        why = SLICE_LIT("The controller does not support the given upgrade type.");
    else if (level < 0)
        why = SLICE_LIT("A feature version cannot be less than 0.");
    else if (level == 0 && !feature_find(name))
        why = arena_printf(c->arena, "Feature %.*s not found.", SLICE_FMT(name));
    else
        why = why_not_supported(c, name, level);
    if (slice_is_null(why) && level < now && type == UPGRADE)
        why = SLICE_LIT("Can't downgrade the version of this feature without setting the upgrade "
                        "type to either safe or unsafe downgrade.");
    if (slice_is_null(why) && slice_eq(name, FEATURE_KRAFT_VERSION) && level < now)
        why = SLICE_LIT("Can't downgrade the version of this feature.");
    if (slice_is_null(why) && level > now && type != UPGRADE)
        why = SLICE_LIT("Can't downgrade to a newer version.");
    if (slice_is_null(why) && slice_eq(name, FEATURE_METADATA_VERSION))
        return why_metadata_refused(c, now, level, type == UNSAFE_DOWNGRADE);
    if (slice_is_null(why))
        why = why_dependencies_fail(c, request, name, level);
    if (slice_is_null(why))
        return SLICE_NULL;
    return arena_printf(c->arena, "Invalid update version %d for feature %.*s. %.*s", level,
                        SLICE_FMT(name), SLICE_FMT(why));
}

void controller_update_features(struct controller *c, const struct update_features_request *request,
                                int16_t version, struct update_features_response *response)
{
    wire_init(&wire_update_features_response, response);
    response->error_message = SLICE_NULL;
    int32_t before = c->records->count;
    if (!controller_elr_enabled(c) && proposed_level(c, request, FEATURE_ELR_VERSION) > 0)
        add_elr_safety(c);
    for (int32_t i = 0; i < request->feature_updates_count; i++) {
        const struct update_features_request_feature_update_key *update =
            &request->feature_updates[i];
        struct slice why = why_refused(c, request, update);
        if (!slice_is_null(why)) {
            meta_records_cut(c->records, before);
            response->error_code = err_to_wire(ERR_INVALID_UPDATE_VERSION);
            response->error_message =
                arena_printf(c->arena,
                             "The update failed for all features since the following feature had "
                             "an error: %.*s",
                             SLICE_FMT(why));
            return;
        }
        if (!slice_eq(update->feature, FEATURE_KRAFT_VERSION))
            add_feature(c, update->feature, update->max_version_level);
    }
    if (request->validate_only)
        meta_records_cut(c->records, before);
    else
        c->kraft_upgrade = proposed_level(c, request, FEATURE_KRAFT_VERSION) >
                           current_level(c, FEATURE_KRAFT_VERSION);
    if (version > 1)
        return;
    struct update_features_response_updatable_feature_result *results =
        update_features_response_results_new(c->arena, response, request->feature_updates_count);
    for (int32_t i = 0; i < request->feature_updates_count; i++) {
        results[i].feature = request->feature_updates[i].feature;
        results[i].error_message = SLICE_LIT("NONE");
    }
}

/* ---- bootstrap --------------------------------------------------------------------------------
 */

void controller_bootstrap(struct controller *c, const struct meta_records *bootstrap)
{
    struct begin_transaction_record begin;
    wire_init(&wire_begin_transaction_record, &begin);
    begin.name = SLICE_LIT("Bootstrap records");
    int32_t first = c->records->count;
    for (int32_t i = 0; i < bootstrap->count; i++)
        meta_records_add_payload(c->records, meta_records_at(bootstrap, i));
    controller_advance(c);
    unsigned flags = controller_version(c)->flags;
    bool elr = controller_elr_enabled(c);
    /* Only now is it known whether this metadata.version has transactions. */
    meta_records_cut(c->records, first);
    if (flags & META_HAS_TRANSACTIONS)
        meta_records_add(c->records, &wire_begin_transaction_record, 0, &begin);
    for (int32_t i = 0; i < bootstrap->count; i++)
        meta_records_add_payload(c->records, meta_records_at(bootstrap, i));
    c->applied = c->records->count;
    if (elr)
        add_elr_safety(c);
    if (flags & META_HAS_TRANSACTIONS) {
        struct end_transaction_record end;
        wire_init(&wire_end_transaction_record, &end);
        meta_records_add(c->records, &wire_end_transaction_record, 0, &end);
    }
}

/* ---- producer ids -----------------------------------------------------------------------------
 */

enum err controller_allocate_producer_ids(struct controller *c, int32_t broker_id,
                                          int64_t broker_epoch, int64_t *ret_first,
                                          int32_t *ret_count)
{
    const struct meta_broker *broker = meta_image_broker(c->image, broker_id);
    if (!broker || broker->epoch != broker_epoch)
        return ERR_STALE_BROKER_EPOCH;
    int64_t first = meta_image_next_producer_id(c->image);
    first = first < 0 ? 0 : first;
    if (first > INT64_MAX - PRODUCER_ID_BLOCK_SIZE)
        return ERR_UNKNOWN_SERVER_ERROR; /* all ids are given */
    struct producer_ids_record r;
    wire_init(&wire_producer_ids_record, &r);
    r.broker_id = broker_id;
    r.broker_epoch = broker_epoch;
    r.next_producer_id = first + PRODUCER_ID_BLOCK_SIZE;
    meta_records_add(c->records, &wire_producer_ids_record, 0, &r);
    *ret_first = first;
    *ret_count = PRODUCER_ID_BLOCK_SIZE;
    return ERR_NONE;
}
