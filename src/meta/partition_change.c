/* One partition's change record; see partition_change.h. Steps, in Kafka's order:
 *   1. finish a reassignment whose new replicas are all in sync
 *   2. eligible leader replicas: who left an ISR that is now below min.insync.replicas
 *   3. election
 *   4. leader epoch bump where replicas leave (or, before 3.6, the ISR shrinks)
 *   5. ISR, last known leader, replicas and directories as far as they differ
 * Field `leader` is set only to elect or to bump the epoch. */
#include "meta/partition_change.h"

#include "meta/controller_internal.h"
#include "meta/features.h"
#include "wire_metadata_records.h"

#include <stdlib.h>

enum { RECOVERING = 1, LEADER_UNCHANGED = -2 };

/* ---- lists ------------------------------------------------------------------------------------
 */

bool id_list_has(struct id_list list, int32_t id)
{
    for (int32_t i = 0; i < list.count; i++)
        if (list.ids[i] == id)
            return true;
    return false;
}

static bool id_list_eq(struct id_list a, struct id_list b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.ids, b.ids, (size_t)a.count * sizeof *a.ids) == 0);
}

struct id_list id_list_of(struct arena *arena, const int32_t *ids, int32_t count)
{
    struct id_list list = {arena_array(arena, (size_t)count, sizeof *list.ids), count};
    if (count)
        memcpy(list.ids, ids, (size_t)count * sizeof *ids);
    return list;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void id_list_sort(struct id_list list)
{
    if (list.count > 1)
        qsort(list.ids, (size_t)list.count, sizeof *list.ids, by_id);
}

struct id_list id_list_without(struct arena *arena, struct id_list list, struct id_list gone)
{
    struct id_list left = {arena_array(arena, (size_t)list.count, sizeof *left.ids), 0};
    for (int32_t i = 0; i < list.count; i++)
        if (!id_list_has(gone, list.ids[i]))
            left.ids[left.count++] = list.ids[i];
    return left;
}

/* A view: nothing writes through it. */
static struct id_list view(const int32_t *ids, int32_t count)
{
    return (struct id_list){(int32_t *)(uintptr_t)ids, count};
}

static struct id_list one(struct arena *arena, int32_t id)
{
    return id_list_of(arena, &id, 1);
}

static bool contains_all(struct id_list big, struct id_list small)
{
    for (int32_t i = 0; i < small.count; i++)
        if (!id_list_has(big, small.ids[i]))
            return false;
    return true;
}

/* ---- who may lead -----------------------------------------------------------------------------
 */

static bool acceptable(const struct partition_change *change, int32_t id)
{
    const struct meta_image *image = change->c->image;
    const struct meta_broker *broker = meta_image_broker(image, id);
    if (!broker || id == change->view.removed || id == change->view.unclean)
        return false;
    if (id != change->view.returned && !meta_image_broker_is_active(image, id))
        return false;
    return meta_broker_dir_is_online(broker, meta_partition_directory(change->old, id));
}

static bool may_lead(const struct partition_change *change, int32_t id)
{
    bool eligible =
        id_list_has(change->isr, id) || (change->isr.count == 0 && id_list_has(change->elr, id));
    return eligible && acceptable(change, id);
}

static bool may_elect_last_known(const struct partition_change *change)
{
    return change->elr_enabled && change->elr.count == 0 && change->isr.count == 0 &&
           change->old->last_elr_count == 1 && acceptable(change, change->old->last_elr[0]);
}

static int32_t elect(const struct partition_change *change, bool *ret_unclean)
{
    const struct id_list *replicas = &change->replicas;
    *ret_unclean = false;
    if (change->election == ELECTION_PREFERRED && replicas->count > 0 &&
        may_lead(change, replicas->ids[0]))
        return replicas->ids[0];
    if (may_lead(change, change->old->leader))
        return change->old->leader;
    for (int32_t i = 0; i < replicas->count; i++)
        if (may_lead(change, replicas->ids[i]))
            return replicas->ids[i];
    *ret_unclean = true;
    if (may_elect_last_known(change))
        return change->old->last_elr[0];
    for (int32_t i = 0; change->election == ELECTION_UNCLEAN && i < replicas->count; i++)
        if (acceptable(change, replicas->ids[i]))
            return replicas->ids[i];
    *ret_unclean = false;
    return META_NO_LEADER;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static void complete_reassignment(struct partition_change *change)
{
    if (change->removing.count == 0 && change->adding.count == 0)
        return;
    struct arena *arena = change->c->arena;
    struct id_list isr = id_list_without(arena, change->isr, change->removing);
    struct id_list replicas = id_list_without(arena, change->replicas, change->removing);
    if (isr.count == 0 || replicas.count == 0 || !contains_all(isr, replicas))
        return;
    change->isr = isr;
    change->replicas = replicas;
    change->removing = change->adding = (struct id_list){NULL, 0};
}

static void populate_elr(struct partition_change *change)
{
    const struct meta_partition *old = change->old;
    if (!change->elr_enabled)
        return;
    if (change->isr.count >= change->min_isr) {
        change->elr.count = 0;
        return;
    }
    struct arena *arena = change->c->arena;
    struct id_list all = {
        arena_array(arena, (size_t)old->elr_count + (size_t)old->isr_count, sizeof(int32_t)), 0};
    for (int32_t i = 0; i < old->elr_count + old->isr_count; i++) {
        int32_t id = i < old->elr_count ? old->elr[i] : old->isr[i - old->elr_count];
        if (!id_list_has(all, id) && !id_list_has(change->isr, id) && id != change->view.unclean)
            all.ids[all.count++] = id;
    }
    change->elr = all;
}

/* True when the election was unclean: the ISR is the new leader alone. */
static bool run_election(struct partition_change *change, struct partition_change_record *r)
{
    bool unclean;
    int32_t leader = elect(change, &unclean);
    if (leader == change->old->leader)
        return false;
    struct arena *arena = change->c->arena;
    if (id_list_has(change->elr, leader)) {
        change->isr = one(arena, leader);
        change->elr = id_list_without(arena, change->elr, change->isr);
    }
    r->leader = leader;
    if (!unclean)
        return false;
    change->isr = one(arena, leader);
    r->isr = change->isr.ids;
    r->isr_count = 1;
    if (change->old->recovery_state != RECOVERING)
        r->leader_recovery_state = RECOVERING;
    return true;
}

static void update_last_known(struct partition_change *change, struct partition_change_record *r)
{
    const struct meta_partition *old = change->old;
    if (!change->elr_enabled)
        return;
    if (r->isr_count == 0 && (old->last_elr_count != 1 || old->last_elr[0] != old->leader)) {
        struct id_list last = one(change->c->arena, old->leader);
        r->last_known_elr = last.ids;
        r->last_known_elr_count = 1;
    } else if ((r->leader >= 0 || (old->leader != META_NO_LEADER && r->leader != META_NO_LEADER)) &&
               old->last_elr_count > 0) {
        r->last_known_elr_count = 0;
    }
}

static struct uuid directory_after(const struct partition_change *change, int32_t id)
{
    if (id == change->moved_broker)
        return change->moved_dir;
    if (meta_partition_has_replica(change->old, id))
        return meta_partition_directory(change->old, id);
    return controller_default_dir(change->c, id);
}

static void set_assignment(struct partition_change *change, struct partition_change_record *r,
                           const struct meta_version *version)
{
    const struct meta_partition *old = change->old;
    int32_t count = change->replicas.count;
    if (count > 0 && (version->flags & META_HAS_DIRECTORY_ASSIGNMENT)) {
        struct uuid *dirs = arena_array(change->c->arena, (size_t)count, sizeof *dirs);
        for (int32_t i = 0; i < count; i++)
            dirs[i] = directory_after(change, change->replicas.ids[i]);
        if (count != old->replica_count ||
            memcmp(dirs, old->directories, (size_t)count * sizeof *dirs) != 0) {
            r->directories = dirs;
            r->directories_count = count;
        }
    }
    if (count > 0 && !id_list_eq(change->replicas, view(old->replicas, old->replica_count))) {
        r->replicas = change->replicas.ids;
        r->replicas_count = count;
    }
    if (!id_list_eq(change->removing, view(old->removing, old->removing_count))) {
        r->removing_replicas = change->removing.ids;
        r->removing_replicas_count = change->removing.count;
    }
    if (!id_list_eq(change->adding, view(old->adding, old->adding_count))) {
        r->adding_replicas = change->adding.ids;
        r->adding_replicas_count = change->adding.count;
    }
}

static bool is_no_op(const struct partition_change_record *r)
{
    return r->isr_count < 0 && r->leader == LEADER_UNCHANGED && r->replicas_count < 0 &&
           r->removing_replicas_count < 0 && r->adding_replicas_count < 0 &&
           r->leader_recovery_state < 0 && r->directories_count < 0 &&
           r->eligible_leader_replicas_count < 0 && r->last_known_elr_count < 0;
}

/* ---- public -----------------------------------------------------------------------------------
 */

void partition_change_init(struct partition_change *change, struct controller *c,
                           const struct meta_topic *topic, int32_t index, int32_t min_isr)
{
    const struct meta_partition *old = meta_topic_partition(topic, index);
    *change = (struct partition_change){
        .c = c,
        .old = old,
        .topic_id = topic->id,
        .index = index,
        .min_isr = min_isr,
        .elr_enabled = controller_elr_enabled(c),
        .view = ELECTION_VIEW_NONE,
        .isr = view(old->isr, old->isr_count),
        .replicas = view(old->replicas, old->replica_count),
        .adding = view(old->adding, old->adding_count),
        .removing = view(old->removing, old->removing_count),
        .elr = view(old->elr, old->elr_count),
        .moved_broker = -1,
    };
}

bool partition_change_add(struct partition_change *change)
{
    const struct meta_partition *old = change->old;
    const struct meta_version *version = controller_version(change->c);
    struct id_list old_isr = view(old->isr, old->isr_count);
    struct partition_change_record r;
    wire_init(&wire_partition_change_record, &r);
    r.topic_id = change->topic_id;
    r.partition_id = change->index;

    complete_reassignment(change);
    populate_elr(change);
    bool unclean = run_election(change, &r);
    if (r.leader == LEADER_UNCHANGED &&
        !contains_all(change->replicas, view(old->replicas, old->replica_count)))
        r.leader = old->leader;
    if (unclean || !change->elr_enabled)
        change->elr.count = 0;
    if (!id_list_eq(change->elr, view(old->elr, old->elr_count))) {
        r.eligible_leader_replicas = change->elr.ids;
        r.eligible_leader_replicas_count = change->elr.count;
    }
    if (r.isr_count < 0 && (change->isr.count > 0 || change->elr_enabled) &&
        !id_list_eq(change->isr, old_isr)) {
        r.isr = change->isr.ids;
        r.isr_count = change->isr.count;
    }
    if ((version->flags & META_HAS_EPOCH_BUMP_ON_SHRINK) && r.leader == LEADER_UNCHANGED &&
        r.isr_count >= 0 && !contains_all(change->isr, old_isr))
        r.leader = old->leader;
    update_last_known(change, &r);
    set_assignment(change, &r, version);
    if (is_no_op(&r))
        return false;
    meta_records_add(change->c->records, &wire_partition_change_record,
                     version->partition_change_version, &r);
    return true;
}
