/* Builds the PartitionChangeRecord for one partition: who leads after its ISR, replicas or the set
 * of live brokers changed, with the rules for eligible leader replicas (KIP-966). Pure; for the
 * controller_*.c files. Arrays of the change come from the arena of the decision. */
#ifndef KLAMM_META_PARTITION_CHANGE_H
#define KLAMM_META_PARTITION_CHANGE_H

#include "meta/controller.h"

struct partition_change_record;

/* A list of broker ids in an arena. */
struct id_list {
    int32_t *ids;
    int32_t count;
};
bool id_list_has(struct id_list list, int32_t id);
struct id_list id_list_of(struct arena *arena, const int32_t *ids, int32_t count); /* a copy */
void id_list_sort(struct id_list list);                                            /* rising */
struct id_list id_list_without(struct arena *arena, struct id_list list, struct id_list gone);

enum election {
    ELECTION_ONLINE,    /* keep the leader when it may lead, else the first replica that may */
    ELECTION_PREFERRED, /* the first replica when it may lead */
    ELECTION_UNCLEAN,   /* as ONLINE; at last any live replica, whatever it may have lost */
};

/* Who counts as able to lead while the records for a broker's change are being made. -1 = nobody.
 */
struct election_view {
    int32_t removed;  /* leaves: never acceptable */
    int32_t unclean;  /* was shut down uncleanly: neither, and it leaves ISR and ELR */
    int32_t returned; /* is being unfenced: acceptable although the image still says fenced */
};
#define ELECTION_VIEW_NONE ((struct election_view){-1, -1, -1})

struct partition_change {
    /* fixed */
    struct controller *c;
    const struct meta_partition *old;
    struct uuid topic_id;
    int32_t index;
    int32_t min_isr; /* effective: min.insync.replicas, at most the replication factor */
    bool elr_enabled;
    struct election_view view;
    /* set by the caller after partition_change_init as needed */
    enum election election;
    struct id_list isr, replicas, adding, removing;
    int32_t moved_broker; /* with moved_dir: the new directory of this broker's replica; -1 none */
    struct uuid moved_dir;
    /* at work */
    struct id_list elr;
};

void partition_change_init(struct partition_change *change, struct controller *c,
                           const struct meta_topic *topic, int32_t index, int32_t min_isr);
/* Appends the record to the decision unless nothing changes. True when it was added. */
bool partition_change_add(struct partition_change *change);

#endif
