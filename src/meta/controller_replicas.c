/* ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments; see controller.h. Each
 * partition stands for itself. A reassignment runs in Kafka's stages: new replicas are added at the
 * front, and once they are in sync the others leave; one that needs no new replica ends at once. */
#include "meta/controller_internal.h"

#include "wire_alter_partition_reassignments.h"
#include "wire_elect_leaders.h"
#include "wire_list_partition_reassignments.h"
#include "wire_metadata_records.h"

static enum err say(struct slice *ret_text, enum err e, struct slice text)
{
    *ret_text = text;
    return e;
}

/* ---- ElectLeaders -----------------------------------------------------------------------------
 */

enum { ELECT_PREFERRED = 0, ELECT_UNCLEAN = 1 };

static enum err elect_one(struct controller *c, struct slice name, int32_t index, int8_t type,
                          struct slice *ret_text)
{
    const struct meta_topic *topic = meta_image_topic(c->image, name);
    if (!topic)
        return say(ret_text, ERR_UNKNOWN_TOPIC_OR_PARTITION,
                   arena_printf(c->arena, "No such topic as %.*s", SLICE_FMT(name)));
    const struct meta_partition *p = meta_topic_partition(topic, index);
    if (!p)
        return say(ret_text, ERR_UNKNOWN_TOPIC_OR_PARTITION,
                   arena_printf(c->arena, "No such partition as %.*s-%d", SLICE_FMT(name), index));
    bool settled = type == ELECT_PREFERRED ? p->replica_count > 0 && p->leader == p->replicas[0]
                                           : p->leader != META_NO_LEADER;
    if (settled)
        return say(ret_text, ERR_ELECTION_NOT_NEEDED,
                   SLICE_LIT("Leader election not needed for topic partition."));
    struct partition_change change;
    partition_change_init(&change, c, topic, index, controller_min_isr(c, topic));
    change.election = type == ELECT_PREFERRED ? ELECTION_PREFERRED : ELECTION_UNCLEAN;
    if (partition_change_add(&change))
        return say(ret_text, ERR_NONE, SLICE_NULL);
    if (type == ELECT_PREFERRED)
        return say(ret_text, ERR_PREFERRED_LEADER_NOT_AVAILABLE,
                   SLICE_LIT("The preferred leader was not available."));
    return say(ret_text, ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE,
               SLICE_LIT("Eligible topic partition leaders are not available."));
}

static void elect_everywhere(struct controller *c, int8_t type,
                             struct elect_leaders_response *response)
{
    int32_t count = (int32_t)meta_image_topic_count(c->image), at = 0;
    struct elect_leaders_response_replica_election_result *topics =
        elect_leaders_response_replica_election_results_new(c->arena, response, count);
    META_IMAGE_FOREACH_TOPIC(topic, c->image)
    {
        struct elect_leaders_response_replica_election_result *t = &topics[at++];
        t->topic = arena_dup(c->arena, topic->name); /* outlives the image */
        struct elect_leaders_response_partition_result *results =
            elect_leaders_response_replica_election_result_partition_result_new(
                c->arena, t, topic->partition_count);
        t->partition_result_count = 0;
        for (int32_t i = 0; i < topic->partition_count; i++) {
            struct slice text = SLICE_NULL;
            enum err e = elect_one(c, topic->name, i, type, &text);
            if (e == ERR_ELECTION_NOT_NEEDED)
                continue;
            struct elect_leaders_response_partition_result *r =
                &results[t->partition_result_count++];
            r->partition_id = i;
            r->error_code = err_to_wire(e);
            r->error_message = text;
        }
    }
}

void controller_elect_leaders(struct controller *c, const struct elect_leaders_request *request,
                              struct elect_leaders_response *response)
{
    wire_init(&wire_elect_leaders_response, response);
    bool type_known =
        request->election_type == ELECT_PREFERRED || request->election_type == ELECT_UNCLEAN;
    if (!type_known && request->topic_partitions_count)
        response->error_code = err_to_wire(ERR_INVALID_REQUEST);
    if (request->topic_partitions_count < 0 && !type_known)
        return;
    if (request->topic_partitions_count < 0) {
        elect_everywhere(c, request->election_type, response);
        return;
    }
    struct elect_leaders_response_replica_election_result *topics =
        elect_leaders_response_replica_election_results_new(c->arena, response,
                                                            request->topic_partitions_count);
    for (int32_t t = 0; t < request->topic_partitions_count; t++) {
        const struct elect_leaders_request_topic_partitions *want = &request->topic_partitions[t];
        topics[t].topic = want->topic;
        struct elect_leaders_response_partition_result *results =
            elect_leaders_response_replica_election_result_partition_result_new(
                c->arena, &topics[t], want->partitions_count);
        for (int32_t i = 0; i < want->partitions_count; i++) {
            struct slice text = SLICE_NULL;
            enum err e = type_known ? elect_one(c, want->topic, want->partitions[i],
                                                request->election_type, &text)
                                    : say(&text, ERR_INVALID_REQUEST,
                                          arena_printf(c->arena, "Unknown election type %d",
                                                       request->election_type));
            results[i].partition_id = want->partitions[i];
            results[i].error_code = err_to_wire(e);
            results[i].error_message = text;
        }
    }
}

/* ---- AlterPartitionReassignments --------------------------------------------------------------
 */

static bool is_reassigning(const struct meta_partition *p)
{
    return p->adding_count > 0 || p->removing_count > 0;
}

static struct id_list list_of(struct controller *c, const int32_t *ids, int32_t count)
{
    return id_list_of(c->arena, ids, count);
}

static struct id_list joined(struct controller *c, struct id_list a, struct id_list b)
{
    struct id_list all = {arena_array(c->arena, (size_t)a.count + (size_t)b.count, sizeof(int32_t)),
                          0};
    for (int32_t i = 0; i < a.count; i++)
        all.ids[all.count++] = a.ids[i];
    for (int32_t i = 0; i < b.count; i++)
        all.ids[all.count++] = b.ids[i];
    return all;
}

static struct id_list in_order(struct id_list list)
{
    id_list_sort(list);
    return list;
}

static enum err cancel(struct controller *c, const struct meta_topic *topic, int32_t index,
                       struct slice *ret_text)
{
    const struct meta_partition *p = meta_topic_partition(topic, index);
    if (!is_reassigning(p))
        return say(ret_text, ERR_NO_REASSIGNMENT_IN_PROGRESS, SLICE_NULL);
    struct id_list adding = list_of(c, p->adding, p->adding_count);
    struct partition_change change;
    partition_change_init(&change, c, topic, index, controller_min_isr(c, topic));
    bool unclean = controller_unclean_allowed(c, topic->name);
    change.election = unclean ? ELECTION_UNCLEAN : ELECTION_ONLINE;
    change.replicas = id_list_without(c->arena, change.replicas, adding);
    change.isr = id_list_without(c->arena, change.isr, adding);
    change.adding = change.removing = (struct id_list){NULL, 0};
    if (change.isr.count == 0 && change.replicas.count > 0) {
        if (!unclean)
            return say(ret_text, ERR_INVALID_REPLICA_ASSIGNMENT,
                       arena_printf(c->arena,
                                    "Unable to revert partition assignment for %.*s:%d because it "
                                    "would require an unclean leader election.",
                                    SLICE_FMT(topic->name), index));
        change.isr = list_of(c, change.replicas.ids, 1);
    }
    partition_change_add(&change);
    return ERR_NONE;
}

static enum err reassign(
    struct controller *c, const struct meta_topic *topic,
    const struct alter_partition_reassignments_request_reassignable_partition *want,
    bool may_change_factor, struct slice *ret_text)
{
    const struct meta_partition *p = meta_topic_partition(topic, want->partition_index);
    enum err e = controller_check_assignment(c, want->replicas, want->replicas_count, -1, ret_text);
    if (e != ERR_NONE)
        return e;
    struct id_list now = list_of(c, p->replicas, p->replica_count);
    struct id_list wanted = list_of(c, want->replicas, want->replicas_count);
    /* The factor before a reassignment under way is that of the replicas which are to stay. */
    int32_t factor = p->replica_count - (is_reassigning(p) ? p->adding_count : 0);
    if (!may_change_factor && wanted.count != factor)
        return say(ret_text, ERR_INVALID_REPLICATION_FACTOR,
                   arena_printf(c->arena, "The replication factor is changed from %d to %d", factor,
                                wanted.count));
    struct id_list removing = in_order(id_list_without(c->arena, now, wanted));
    struct id_list adding = in_order(id_list_without(c->arena, wanted, now));
    struct partition_change change;
    partition_change_init(&change, c, topic, want->partition_index, controller_min_isr(c, topic));
    change.replicas = joined(c, wanted, removing);
    if (removing.count > 0)
        change.removing = removing;
    if (adding.count > 0)
        change.adding = adding;
    partition_change_add(&change);
    return ERR_NONE;
}

static enum err alter_one(
    struct controller *c, struct slice name,
    const struct alter_partition_reassignments_request_reassignable_partition *want,
    bool may_change_factor, struct slice *ret_text)
{
    const struct meta_topic *topic = meta_image_topic(c->image, name);
    if (!topic)
        return say(ret_text, ERR_UNKNOWN_TOPIC_OR_PARTITION,
                   arena_printf(c->arena, "Unable to find a topic named %.*s.", SLICE_FMT(name)));
    if (!meta_topic_partition(topic, want->partition_index))
        return say(ret_text, ERR_UNKNOWN_TOPIC_OR_PARTITION,
                   arena_printf(c->arena, "Unable to find partition %.*s:%d.", SLICE_FMT(name),
                                want->partition_index));
    if (want->replicas_count < 0)
        return cancel(c, topic, want->partition_index, ret_text);
    return reassign(c, topic, want, may_change_factor, ret_text);
}

void controller_alter_reassignments(struct controller *c,
                                    const struct alter_partition_reassignments_request *request,
                                    struct alter_partition_reassignments_response *response)
{
    wire_init(&wire_alter_partition_reassignments_response, response);
    /* Kafka answers a request without topics before it comes to the message. */
    response->error_message = request->topics_count ? SLICE_NULL : SLICE_LIT("");
    response->allow_replication_factor_change = request->allow_replication_factor_change;
    struct alter_partition_reassignments_response_reassignable_topic_response *topics =
        alter_partition_reassignments_response_responses_new(c->arena, response,
                                                             request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct alter_partition_reassignments_request_reassignable_topic *topic =
            &request->topics[t];
        topics[t].name = topic->name;
        struct alter_partition_reassignments_response_reassignable_partition_response *results =
            alter_partition_reassignments_response_reassignable_topic_response_partitions_new(
                c->arena, &topics[t], topic->partitions_count);
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            struct slice text = SLICE_NULL;
            enum err e = alter_one(c, topic->name, &topic->partitions[i],
                                   request->allow_replication_factor_change, &text);
            results[i].partition_index = topic->partitions[i].partition_index;
            results[i].error_code = err_to_wire(e);
            results[i].error_message = text;
        }
    }
}

/* ---- ListPartitionReassignments ---------------------------------------------------------------
 */

static void list_partition(
    const struct meta_partition *p, int32_t index,
    struct list_partition_reassignments_response_ongoing_partition_reassignment *r)
{
    r->partition_index = index;
    r->replicas = (int32_t *)(uintptr_t)p->replicas;
    r->replicas_count = p->replica_count;
    r->adding_replicas = (int32_t *)(uintptr_t)p->adding;
    r->adding_replicas_count = p->adding_count;
    r->removing_replicas = (int32_t *)(uintptr_t)p->removing;
    r->removing_replicas_count = p->removing_count;
}

/* indexes NULL: all partitions. */
static void list_topic(struct controller *c, struct slice name, const int32_t *indexes,
                       int32_t count, struct list_partition_reassignments_response *response)
{
    const struct meta_topic *topic = meta_image_topic(c->image, name);
    if (!topic)
        return;
    struct list_partition_reassignments_response_ongoing_topic_reassignment *t =
        &response->topics[response->topics_count];
    int32_t found = 0, asked = indexes ? count : topic->partition_count;
    struct list_partition_reassignments_response_ongoing_partition_reassignment *list = NULL;
    for (int32_t i = 0; i < asked; i++) {
        int32_t index = indexes ? indexes[i] : i;
        const struct meta_partition *p = meta_topic_partition(topic, index);
        if (!p || !is_reassigning(p))
            continue;
        if (!list)
            list = list_partition_reassignments_response_ongoing_topic_reassignment_partitions_new(
                c->arena, t, asked);
        list_partition(p, index, &list[found++]);
    }
    if (found == 0)
        return;
    t->name = arena_dup(c->arena, topic->name); /* outlives the image */
    t->partitions_count = found;
    response->topics_count++;
}

void controller_list_reassignments(struct controller *c,
                                   const struct list_partition_reassignments_request *request,
                                   struct list_partition_reassignments_response *response)
{
    wire_init(&wire_list_partition_reassignments_response, response);
    response->error_message = SLICE_NULL;
    bool all = request->topics_count < 0;
    int32_t room = all ? (int32_t)meta_image_topic_count(c->image) : request->topics_count;
    list_partition_reassignments_response_topics_new(c->arena, response, room);
    response->topics_count = 0;
    if (all) {
        META_IMAGE_FOREACH_TOPIC(topic, c->image)
        list_topic(c, topic->name, NULL, 0, response);
        return;
    }
    for (int32_t i = 0; i < request->topics_count; i++) {
        const int32_t none = 0;
        const int32_t *indexes = request->topics[i].partition_indexes;
        list_topic(c, request->topics[i].name, indexes ? indexes : &none,
                   request->topics[i].partition_indexes_count, response);
    }
}
