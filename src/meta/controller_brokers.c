/* Decisions about brokers: registration of this node, unfencing, controlled shutdown, directories
 * that fail, directory assignments, unregistration; see controller.h.
 *
 * States of a broker: absent -> (register) fenced -> (unfence) active -> (controlled shutdown) in
 * shutdown -> (fence) fenced -> (register again) fenced ... -> (unregister) absent.
 * A node that registers again after it died is first taken out of what it led; when its clean
 * shutdown files do not name its last broker epoch it also leaves ISR and ELR, and leads again only
 * as last known leader, marked as recovering (KIP-966). */
#include "meta/controller_internal.h"

#include "base/ensure.h"
#include "meta/records_build.h"
#include "wire_metadata_records.h"
#include "wire_unregister_broker.h"

enum { FENCE = 1, UNFENCE = -1 };

static void add_change(struct controller *c, struct broker_registration_change_record *r,
                       int32_t broker_id, int64_t epoch, int16_t version)
{
    r->broker_id = broker_id;
    r->broker_epoch = epoch;
    meta_records_add(c->records, &wire_broker_registration_change_record, version, r);
}

static void add_fencing(struct controller *c, int32_t broker_id, int64_t epoch, int8_t fenced)
{
    struct broker_registration_change_record r;
    wire_init(&wire_broker_registration_change_record, &r);
    r.fenced = fenced;
    add_change(c, &r, broker_id, epoch, 0);
}

/* ---- registration of this node ----------------------------------------------------------------
 */

static struct meta_feature_range *own_features(struct controller *c, int32_t *ret_count)
{
    size_t count = feature_count();
    struct meta_feature_range *ranges = arena_array(c->arena, count, sizeof *ranges);
    for (size_t i = 0; i < count; i++) {
        const struct feature *f = feature_at(i);
        ranges[i] = (struct meta_feature_range){slice_str(f->name), f->min, f->max};
    }
    *ret_count = (int32_t)count;
    return ranges;
}

static void register_controller(struct controller *c, const struct controller_registration *self)
{
    if (!(controller_version(c)->flags & META_HAS_CONTROLLER_REGISTRATION))
        return;
    struct meta_controller_node node = {
        .id = self->node_id,
        .incarnation = self->incarnation,
        .endpoint_count = self->controller_endpoint_count,
        .endpoints = self->controller_endpoints,
    };
    node.features = own_features(c, &node.feature_count);
    struct register_controller_record r;
    meta_controller_to_record(&node, c->arena, &r);
    meta_records_add(c->records, &wire_register_controller_record,
                     controller_version(c)->register_controller_version, &r);
}

/* What an earlier incarnation leaves behind: it does not lead any more, and what it may have lost
 * on an unclean stop does not count as in sync. */
static void clean_up_previous(struct controller *c, const struct controller_registration *self)
{
    const struct meta_broker *old = meta_image_broker(c->image, self->node_id);
    if (!old)
        return;
    struct election_view view = ELECTION_VIEW_NONE;
    if (self->previous_epoch != old->epoch && (controller_version(c)->flags & META_HAS_ELR)) {
        view.unclean = self->node_id;
        controller_update_leaders(c, PARTITIONS_IN_ISR, self->node_id, view, NULL, 0);
        controller_advance(c);
        controller_update_leaders(c, PARTITIONS_IN_ELR, self->node_id, view, NULL, 0);
    } else if (!old->fenced) {
        view.removed = self->node_id;
        controller_update_leaders(c, PARTITIONS_IN_ISR, self->node_id, view, NULL, 0);
    }
}

static void register_broker(struct controller *c, const struct controller_registration *self,
                            int64_t epoch)
{
    struct meta_broker broker = {
        .id = self->node_id,
        .epoch = epoch,
        .incarnation = self->incarnation,
        .fenced = true,
        .rack = self->rack,
        .endpoint_count = self->broker_endpoint_count,
        .endpoints = self->broker_endpoints,
        .dir_count = self->dir_count,
        .dirs = self->dirs,
        .cordoned_count = -1,
    };
    broker.features = own_features(c, &broker.feature_count);
    struct register_broker_record r;
    meta_broker_to_record(&broker, controller_version(c), c->arena, &r);
    meta_records_add(c->records, &wire_register_broker_record,
                     controller_version(c)->register_broker_version, &r);
    if (controller_version(c)->flags & META_HAS_CORDONED_DIRS) {
        /* An empty list, as 4.4.0 writes here; controller_cordon_dirs follows. */
        struct broker_registration_change_record change;
        wire_init(&wire_broker_registration_change_record, &change);
        change.cordoned_log_dirs_count = 0;
        add_change(c, &change, self->node_id, epoch, 3);
    }
}

void controller_register_self(struct controller *c, const struct controller_registration *self)
{
    int64_t epoch = c->offset_next;
    controller_advance(c);
    register_controller(c, self);
    if (self->broker_endpoint_count == 0)
        return; /* a controller alone */
    clean_up_previous(c, self);
    register_broker(c, self, epoch);
    controller_advance(c);
    add_fencing(c, self->node_id, epoch, UNFENCE);
    struct election_view view = ELECTION_VIEW_NONE;
    view.returned = self->node_id;
    controller_update_leaders(c, PARTITIONS_LEADERLESS, self->node_id, view, NULL, 0);
}

void controller_shutdown_self(struct controller *c, int32_t broker_id)
{
    const struct meta_broker *broker = meta_image_broker(c->image, broker_id);
    if (!broker || broker->fenced)
        return;
    int64_t epoch = broker->epoch;
    struct broker_registration_change_record r;
    wire_init(&wire_broker_registration_change_record, &r);
    r.in_controlled_shutdown = 1;
    add_change(c, &r, broker_id, epoch, 1);
    struct election_view view = ELECTION_VIEW_NONE;
    view.removed = broker_id;
    controller_update_leaders(c, PARTITIONS_IN_ISR, broker_id, view, NULL, 0);
    add_fencing(c, broker_id, epoch, FENCE);
}

/* ---- directories ------------------------------------------------------------------------------
 */

static bool uuid_in(const struct uuid *list, int32_t count, const struct uuid *id)
{
    for (int32_t i = 0; i < count; i++)
        if (uuid_eq(&list[i], id))
            return true;
    return false;
}

void controller_dirs_offline(struct controller *c, int32_t broker_id, const struct uuid *dirs,
                             int32_t dir_count)
{
    const struct meta_broker *broker = meta_image_broker(c->image, broker_id);
    if (!broker || !(controller_version(c)->flags & META_HAS_DIRECTORY_ASSIGNMENT))
        return;
    struct broker_registration_change_record r;
    wire_init(&wire_broker_registration_change_record, &r);
    broker_registration_change_record_log_dirs_new(c->arena, &r, broker->dir_count);
    r.log_dirs_count = 0;
    for (int32_t i = 0; i < broker->dir_count; i++)
        if (!uuid_in(dirs, dir_count, &broker->dirs[i]))
            r.log_dirs[r.log_dirs_count++] = broker->dirs[i];
    /* The record cannot say "none left": a node without folders ends itself anyway. */
    if (r.log_dirs_count == broker->dir_count || r.log_dirs_count == 0)
        return;
    struct election_view view = ELECTION_VIEW_NONE;
    view.removed = broker_id;
    controller_update_leaders(c, PARTITIONS_IN_ISR, broker_id, view, dirs, dir_count);
    add_change(c, &r, broker_id, broker->epoch, 2);
}

bool controller_is_cordoned(const struct meta_broker *broker)
{
    int32_t open = 0;
    for (int32_t i = 0; i < broker->dir_count; i++)
        open += !uuid_in(broker->cordoned, broker->cordoned_count, &broker->dirs[i]);
    return broker->dir_count > 0 && open == 0;
}

bool controller_cordons_differ(const struct meta_image *image, int32_t broker_id,
                               const struct uuid *dirs, int32_t dir_count)
{
    const struct meta_broker *broker = meta_image_broker(image, broker_id);
    const struct meta_version *version = meta_version_find(meta_image_metadata_version(image));
    if (!broker || !version || !(version->flags & META_HAS_CORDONED_DIRS))
        return false;
    int32_t known = broker->cordoned_count > 0 ? broker->cordoned_count : 0, same = 0;
    for (int32_t i = 0; i < dir_count; i++)
        same += uuid_in(broker->cordoned, known, &dirs[i]);
    return same != dir_count || known != dir_count;
}

void controller_cordon_dirs(struct controller *c, int32_t broker_id, const struct uuid *dirs,
                            int32_t dir_count)
{
    if (!controller_cordons_differ(c->image, broker_id, dirs, dir_count))
        return;
    struct broker_registration_change_record r;
    wire_init(&wire_broker_registration_change_record, &r);
    broker_registration_change_record_cordoned_log_dirs_new(c->arena, &r, dir_count);
    for (int32_t i = 0; i < dir_count; i++)
        r.cordoned_log_dirs[i] = dirs[i];
    add_change(c, &r, broker_id, meta_image_broker(c->image, broker_id)->epoch, 3);
}

void controller_assign_dirs(struct controller *c, int32_t broker_id,
                            const struct controller_assignment *assignments, int32_t count)
{
    const struct meta_broker *broker = meta_image_broker(c->image, broker_id);
    if (!broker || !(controller_version(c)->flags & META_HAS_DIRECTORY_ASSIGNMENT))
        return;
    for (int32_t i = 0; i < count; i++) {
        const struct controller_assignment *a = &assignments[i];
        const struct meta_topic *topic = meta_image_topic_by_id(c->image, &a->topic_id);
        const struct meta_partition *p = topic ? meta_topic_partition(topic, a->partition) : NULL;
        if (!p || !meta_partition_has_replica(p, broker_id))
            continue;
        struct partition_change change;
        partition_change_init(&change, c, topic, a->partition, controller_min_isr(c, topic));
        change.moved_broker = broker_id;
        change.moved_dir = a->directory;
        partition_change_add(&change);
    }
}

/* ---- unregistration ---------------------------------------------------------------------------
 */

void controller_unregister_broker(struct controller *c,
                                  const struct unregister_broker_request *request,
                                  struct unregister_broker_response *response)
{
    wire_init(&wire_unregister_broker_response, response);
    const struct meta_broker *broker = meta_image_broker(c->image, request->broker_id);
    if (!broker) {
        response->error_code = err_to_wire(ERR_BROKER_ID_NOT_REGISTERED);
        response->error_message =
            arena_printf(c->arena, "Broker ID %d is not currently registered", request->broker_id);
        return;
    }
    struct election_view view = ELECTION_VIEW_NONE;
    view.removed = request->broker_id;
    int64_t epoch = broker->epoch;
    controller_update_leaders(c, PARTITIONS_IN_ISR, request->broker_id, view, NULL, 0);
    controller_advance(c);
    controller_update_leaders(c, PARTITIONS_IN_ELR, request->broker_id, view, NULL, 0);
    struct unregister_broker_record r;
    wire_init(&wire_unregister_broker_record, &r);
    r.broker_id = request->broker_id;
    r.broker_epoch = epoch;
    meta_records_add(c->records, &wire_unregister_broker_record, 0, &r);
}
