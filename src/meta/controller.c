/* The controller's decisions, what they share: settings, placement, replica checks, elections over
 * many partitions; see controller.h and controller_internal.h. Called through the quorum driver,
 * under the controller lock, on the thread that submits the operation. Pure: the image, the time
 * and randomness are handed in. */
#include "meta/controller.h"

#include "base/ensure.h"
#include "conf/topic_config.h"
#include "meta/controller_internal.h"
#include "meta/edit.h"
#include "meta/records_build.h"
#include "wire_metadata_records.h"

/* ---- life of a decision -----------------------------------------------------------------------
 */

void controller_init(struct controller *c)
{
    c->owned = NULL;
    c->applied = 0;
    c->effective = NULL;
    c->names = NULL;
}

static void apply(struct controller *c, struct meta_provenance provenance)
{
    struct meta_edit *edit = meta_edit_new(c->image);
    for (; c->applied < c->records->count; c->applied++) {
        struct slice text;
        enum err e =
            meta_edit_replay(edit, meta_records_at(c->records, c->applied), c->arena, &text);
        ENSURE_CMP(e, ==, ERR_NONE); /* a decision made a record that does not fit its own image */
    }
    struct meta_image *next = meta_edit_image(edit, provenance);
    meta_edit_free(edit);
    meta_image_unref(c->owned);
    c->image = c->owned = next;
    controller_forget_names(c);
    config_unref(c->effective);
    c->effective = NULL;
}

void controller_advance(struct controller *c)
{
    if (c->applied < c->records->count)
        apply(c, *meta_image_provenance(c->image));
}

struct meta_image *controller_finish(struct controller *c, struct meta_provenance provenance)
{
    apply(c, provenance);
    return meta_image_ref(c->image);
}

void controller_fini(struct controller *c)
{
    controller_forget_names(c);
    meta_image_unref(c->owned);
    config_unref(c->effective);
    c->owned = NULL;
    c->effective = NULL;
}

struct uuid controller_uuid(struct controller *c)
{
    struct uuid id;
    uint8_t random[16];
    do
        c->random(c->random_context, random, sizeof random);
    while (!uuid_from_random(random, &id));
    return id;
}

/* ---- settings ---------------------------------------------------------------------------------
 */

const struct meta_version *controller_version(const struct controller *c)
{
    const struct meta_version *found = meta_version_find(meta_image_metadata_version(c->image));
    return found ? found : meta_version_find(META_VERSION_MIN);
}

const struct config *controller_config(struct controller *c)
{
    if (!c->effective)
        c->effective = meta_image_node_config(c->image, c->settings->config);
    return c->effective;
}

static struct topic_config topic_settings(struct controller *c, struct slice topic)
{
    struct topic_config config;
    topic_config_compute(controller_config(c),
                         meta_image_overrides(c->image, META_RESOURCE_TOPIC, topic), &config);
    return config;
}

bool controller_unclean_allowed(struct controller *c, struct slice topic)
{
    return topic_settings(c, topic).unclean_leader_election;
}

int32_t controller_min_isr(struct controller *c, const struct meta_topic *topic)
{
    int32_t min_isr = topic_settings(c, topic->name).min_insync_replicas;
    const struct meta_partition *first = meta_topic_partition(topic, 0);
    int32_t replication = first ? first->replica_count : 1;
    return min_isr < replication ? min_isr : replication;
}

/* ---- replicas ---------------------------------------------------------------------------------
 */

struct uuid controller_default_dir(const struct controller *c, int32_t broker_id)
{
    const struct meta_broker *broker = meta_image_broker(c->image, broker_id);
    if (!broker)
        return META_DIR_UNASSIGNED;
    if (broker->dir_count == 0)
        return META_DIR_MIGRATING;
    return broker->dir_count == 1 ? broker->dirs[0] : META_DIR_UNASSIGNED;
}

enum err controller_check_assignment(struct controller *c, const int32_t *ids, int32_t count,
                                     int32_t replication, struct slice *ret_text)
{
    if (count == 0) {
        *ret_text = SLICE_LIT("The manual partition assignment includes an empty replica list.");
        return ERR_INVALID_REPLICA_ASSIGNMENT;
    }
    struct id_list sorted = id_list_of(c->arena, ids, count);
    id_list_sort(sorted);
    const int32_t *list = sorted.ids;
    for (int32_t i = 0; i < count; i++) {
        const struct meta_broker *broker = meta_image_broker(c->image, list[i]);
        if (!broker) {
            *ret_text = arena_printf(c->arena,
                                     "The manual partition assignment includes broker %d, but no "
                                     "such broker is registered.",
                                     list[i]);
            return ERR_INVALID_REPLICA_ASSIGNMENT;
        }
        if (controller_is_cordoned(broker)) {
            *ret_text = arena_printf(c->arena,
                                     "The manual partition assignment includes broker %d, but all "
                                     "its log directories are cordoned.",
                                     list[i]);
            return ERR_INVALID_REPLICA_ASSIGNMENT;
        }
        if (i > 0 && list[i] == list[i - 1]) {
            *ret_text = arena_printf(c->arena,
                                     "The manual partition assignment includes the broker %d more "
                                     "than once.",
                                     list[i]);
            return ERR_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    if (replication >= 0 && count != replication) {
        *ret_text = arena_printf(c->arena,
                                 "The manual partition assignment includes a partition with %d "
                                 "replica(s), but this is not consistent with previous "
                                 "partitions, which have %d replica(s).",
                                 count, replication);
        return ERR_INVALID_REPLICA_ASSIGNMENT;
    }
    return ERR_NONE;
}

bool controller_new_partition(struct controller *c, const int32_t *replicas, int32_t count,
                              struct meta_partition *ret_partition)
{
    int32_t *isr = arena_array(c->arena, (size_t)count, sizeof *isr);
    int32_t isr_count = 0;
    struct uuid *dirs = arena_array(c->arena, (size_t)count, sizeof *dirs);
    for (int32_t i = 0; i < count; i++) {
        dirs[i] = controller_default_dir(c, replicas[i]);
        if (meta_image_broker_is_active(c->image, replicas[i]))
            isr[isr_count++] = replicas[i];
    }
    if (isr_count == 0)
        return false;
    *ret_partition = (struct meta_partition){
        .leader = isr[0],
        .replica_count = count,
        .isr_count = isr_count,
        .replicas = replicas,
        .isr = isr,
        .directories = dirs,
    };
    return true;
}

void controller_add_partition(struct controller *c, const struct uuid *topic_id, int32_t index,
                              const struct meta_partition *partition)
{
    struct partition_record r;
    meta_partition_to_record(partition, topic_id, index, controller_version(c), &r);
    meta_records_add(c->records, &wire_partition_record, controller_version(c)->partition_version,
                     &r);
}

/* Unfenced brokers first, from a random one on; the leaders rotate over the unfenced ones. Racks
 * play no part: with one broker there is one. */
enum err controller_place(struct controller *c, int32_t first, int32_t count, int32_t replication,
                          int32_t **ret_ids, struct slice *ret_text)
{
    size_t registered = meta_image_broker_count(c->image);
    int32_t total = 0, live = 0;
    int32_t *brokers = arena_array(c->arena, registered, sizeof *brokers);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < registered; i++) {
            const struct meta_broker *broker = meta_image_broker_at(c->image, i);
            if (broker->fenced == (pass == 1) && !controller_is_cordoned(broker))
                brokers[total++] = broker->id;
        }
        live = pass == 0 ? total : live;
    }
    if (replication <= 0)
        *ret_text = arena_printf(c->arena,
                                 "Invalid replication factor %d: the replication factor "
                                 "must be positive.",
                                 replication);
    else if (live == 0)
        *ret_text = SLICE_LIT("All brokers are currently fenced, or have all their log directories "
                              "cordoned.");
    else if (replication > total)
        *ret_text = arena_printf(c->arena,
                                 "The target replication factor of %d cannot be reached "
                                 "because only %d broker(s) are registered or some brokers have "
                                 "all their log directories cordoned.",
                                 replication, total);
    else {
        uint32_t start;
        c->random(c->random_context, &start, sizeof start);
        int32_t *ids = arena_array(c->arena, (size_t)count * (size_t)replication, sizeof *ids);
        for (int32_t p = 0; p < count; p++) {
            int32_t leader = (int32_t)(((uint32_t)first + (uint32_t)p + start) % (uint32_t)live);
            ids[p * replication] = brokers[leader];
            for (int32_t r = 1, b = leader; r < replication; r++) {
                b = (b + 1) % total;
                ids[p * replication + r] = brokers[b];
            }
        }
        *ret_ids = ids;
        return ERR_NONE;
    }
    return ERR_INVALID_REPLICATION_FACTOR;
}

/* ---- elections over many partitions -----------------------------------------------------------
 */

static bool has(const int32_t *ids, int32_t count, int32_t id)
{
    return id_list_has((struct id_list){(int32_t *)(uintptr_t)ids, count}, id);
}

static bool in_dirs(const struct meta_partition *p, int32_t broker_id, const struct uuid *dirs,
                    int32_t dir_count)
{
    struct uuid dir = meta_partition_directory(p, broker_id);
    for (int32_t i = 0; i < dir_count; i++)
        if (uuid_eq(&dir, &dirs[i]))
            return true;
    return !dirs;
}

static bool matches(const struct meta_partition *p, enum partition_filter filter, int32_t broker_id)
{
    switch (filter) {
    case PARTITIONS_IN_ISR: return has(p->isr, p->isr_count, broker_id);
    case PARTITIONS_IN_ELR: return has(p->elr, p->elr_count, broker_id);
    case PARTITIONS_LEADERLESS: break;
    }
    return p->leader == META_NO_LEADER;
}

void controller_update_leaders(struct controller *c, enum partition_filter filter,
                               int32_t broker_id, struct election_view view,
                               const struct uuid *dirs, int32_t dir_count)
{
    struct id_list gone = {(int32_t[]){view.removed, view.unclean}, 2};
    META_IMAGE_FOREACH_TOPIC(topic, c->image)
    {
        int32_t min_isr = -1;
        bool unclean = false;
        for (int32_t i = 0; i < topic->partition_count; i++) {
            const struct meta_partition *p = topic->partitions[i];
            if (!p || !matches(p, filter, broker_id) || !in_dirs(p, broker_id, dirs, dir_count))
                continue;
            if (min_isr < 0) {
                min_isr = controller_min_isr(c, topic);
                unclean = controller_unclean_allowed(c, topic->name);
            }
            struct partition_change change;
            partition_change_init(&change, c, topic, i, min_isr);
            change.view = view;
            change.election = unclean ? ELECTION_UNCLEAN : ELECTION_ONLINE;
            change.isr = id_list_without(c->arena, change.isr, gone);
            partition_change_add(&change);
        }
    }
}
