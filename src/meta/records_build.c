/* Image objects as record structs; see records_build.h. Used for snapshots (on a worker) and for
 * new partitions and registrations (in decisions). Fields that a metadata.version lacks keep their
 * defaults; tagged fields are set only when they say something, as Kafka does. */
#include "meta/records_build.h"

#include "wire_metadata_records.h"

/* Records only read the arrays that image objects own. */
static int32_t *ids(const int32_t *p)
{
    return (int32_t *)(uintptr_t)p;
}

static struct uuid *uuids(const struct uuid *p)
{
    return (struct uuid *)(uintptr_t)p;
}

void meta_partition_to_record(const struct meta_partition *p, const struct uuid *topic_id,
                              int32_t index, const struct meta_version *version,
                              struct partition_record *r)
{
    wire_init(&wire_partition_record, r);
    r->partition_id = index;
    r->topic_id = *topic_id;
    r->replicas = ids(p->replicas);
    r->replicas_count = p->replica_count;
    r->isr = ids(p->isr);
    r->isr_count = p->isr_count;
    r->removing_replicas = ids(p->removing);
    r->removing_replicas_count = p->removing_count;
    r->adding_replicas = ids(p->adding);
    r->adding_replicas_count = p->adding_count;
    r->leader = p->leader;
    r->leader_recovery_state = p->recovery_state;
    r->leader_epoch = p->leader_epoch;
    r->partition_epoch = p->partition_epoch;
    if (version->flags & META_HAS_DIRECTORY_ASSIGNMENT) {
        r->directories = uuids(p->directories);
        r->directories_count = p->replica_count;
    }
    if ((version->flags & META_HAS_ELR) && p->elr_count > 0) {
        r->eligible_leader_replicas = ids(p->elr);
        r->eligible_leader_replicas_count = p->elr_count;
    }
    if ((version->flags & META_HAS_ELR) && p->last_elr_count > 0) {
        r->last_known_elr = ids(p->last_elr);
        r->last_known_elr_count = p->last_elr_count;
    }
}

void meta_broker_to_record(const struct meta_broker *b, const struct meta_version *version,
                           struct arena *arena, struct register_broker_record *r)
{
    wire_init(&wire_register_broker_record, r);
    r->broker_id = b->id;
    r->is_migrating_zk_broker = b->is_migrating_zk;
    r->incarnation_id = b->incarnation;
    r->broker_epoch = b->epoch;
    register_broker_record_end_points_new(arena, r, b->endpoint_count);
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        r->end_points[i].name = b->endpoints[i].name;
        r->end_points[i].host = b->endpoints[i].host;
        r->end_points[i].port = b->endpoints[i].port;
        r->end_points[i].security_protocol = b->endpoints[i].security_protocol;
    }
    register_broker_record_features_new(arena, r, b->feature_count);
    for (int32_t i = 0; i < b->feature_count; i++) {
        r->features[i].name = b->features[i].name;
        r->features[i].min_supported_version = b->features[i].min;
        r->features[i].max_supported_version = b->features[i].max;
    }
    r->rack = b->rack;
    r->fenced = b->fenced;
    r->in_controlled_shutdown = b->in_controlled_shutdown;
    if (version->flags & META_HAS_DIRECTORY_ASSIGNMENT) {
        r->log_dirs = uuids(b->dirs);
        r->log_dirs_count = b->dir_count;
    }
    if (version->flags & META_HAS_CORDONED_DIRS) {
        r->cordoned_log_dirs = uuids(b->cordoned);
        r->cordoned_log_dirs_count = b->cordoned_count;
    }
}

void meta_controller_to_record(const struct meta_controller_node *c, struct arena *arena,
                               struct register_controller_record *r)
{
    wire_init(&wire_register_controller_record, r);
    r->controller_id = c->id;
    r->incarnation_id = c->incarnation;
    r->zk_migration_ready = c->zk_migration_ready;
    register_controller_record_end_points_new(arena, r, c->endpoint_count);
    for (int32_t i = 0; i < c->endpoint_count; i++) {
        r->end_points[i].name = c->endpoints[i].name;
        r->end_points[i].host = c->endpoints[i].host;
        r->end_points[i].port = c->endpoints[i].port;
        r->end_points[i].security_protocol = c->endpoints[i].security_protocol;
    }
    register_controller_record_features_new(arena, r, c->feature_count);
    for (int32_t i = 0; i < c->feature_count; i++) {
        r->features[i].name = c->features[i].name;
        r->features[i].min_supported_version = c->features[i].min;
        r->features[i].max_supported_version = c->features[i].max;
    }
}
