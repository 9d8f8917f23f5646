/* What the controller_*.c files share; see controller.h. */
#ifndef KLAMM_META_CONTROLLER_INTERNAL_H
#define KLAMM_META_CONTROLLER_INTERNAL_H

#include "meta/controller.h"
#include "meta/features.h"
#include "meta/partition_change.h"

/* What the image's metadata.version allows; that of the oldest one when there is none yet. */
const struct meta_version *controller_version(const struct controller *c);

/* This node's configuration under the dynamic layers of the image; valid as long as `c`. */
const struct config *controller_config(struct controller *c);
/* unclean.leader.election.enable of a topic. */
bool controller_unclean_allowed(struct controller *c, struct slice topic);
/* min.insync.replicas of a topic, at most its replication factor. */
int32_t controller_min_isr(struct controller *c, const struct meta_topic *topic);

#define MIN_ISR SLICE_LIT("min.insync.replicas")

/* Eligible leader replicas are in use. */
bool controller_elr_enabled(const struct controller *c);
/* ConfigRecords, and what a change of min.insync.replicas brings along. */
void controller_add_configs(struct controller *c, int8_t type, struct slice resource,
                            struct conf_changes changes);

/* The directory of a new replica: the broker's only one, else unassigned (it chooses itself). */
struct uuid controller_default_dir(const struct controller *c, int32_t broker_id);

/* All of its directories are cordoned: it gets no new replicas. */
bool controller_is_cordoned(const struct meta_broker *broker);

/* Frees c->names, when the image changes or the decision ends. */
void controller_forget_names(struct controller *c);

/* Replays the records added since the last call: c->image then has them. */
void controller_advance(struct controller *c);

/* Checks a replica list that a client gave; ERR_NONE or INVALID_REPLICA_ASSIGNMENT with a text.
 * replication -1: any length. */
enum err controller_check_assignment(struct controller *c, const int32_t *ids, int32_t count,
                                     int32_t replication, struct slice *ret_text);
/* A fresh partition whose ISR is the active part of `replicas`; false when none is active. */
bool controller_new_partition(struct controller *c, const int32_t *replicas, int32_t count,
                              struct meta_partition *ret_partition);
/* Chooses replicas for `count` partitions, the first being number `first`. The result has count *
 * replication ids. */
enum err controller_place(struct controller *c, int32_t first, int32_t count, int32_t replication,
                          int32_t **ret_ids, struct slice *ret_text);
/* One PartitionRecord. */
void controller_add_partition(struct controller *c, const struct uuid *topic_id, int32_t index,
                              const struct meta_partition *partition);

/* Elections for all partitions that match: leader and ISR as `view` says. `dirs` NULL or the
 * directories that the replica of view.removed must be in. */
enum partition_filter {
    PARTITIONS_IN_ISR, /* broker in ISR */
    PARTITIONS_IN_ELR, /* broker in ELR */
    PARTITIONS_LEADERLESS,
};
void controller_update_leaders(struct controller *c, enum partition_filter filter,
                               int32_t broker_id, struct election_view view,
                               const struct uuid *dirs, int32_t dir_count);

#endif
