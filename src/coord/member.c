/* One member of a classic group: its protocols and its assignment.
 *
 * A member's texts are owned copies: requests die with their arena, members stay. The protocols of
 * one JoinGroup live in one allocation, names and metadata behind the array.
 * Called by the other files of coord, under the shard holder's lock. Kafka behaviour: the protocols
 * of a JoinGroup are an ordered set, so a name given twice counts once, with its first metadata. */
#include "base/mem.h"
#include "coord/group.h"

/* Above this many protocols, names are compared through a map: a request may hold millions. */
enum { MEMBER_LINEAR_MAX = 8 };

struct member *member_new(struct group *group, struct slice id, struct slice instance_id)
{
    struct member *member = mem_zalloc(sizeof *member);
    member->group = group;
    member->id = slice_dup(id);
    member->instance_id = slice_dup(instance_id);
    member->assignment = slice_dup(SLICE_LIT(""));
    shard_timer_init(&member->session, SHARD_TIMER_SESSION, member);
    return member;
}

static bool offer_has_before(const struct group_offer *offer, int32_t index)
{
    for (int32_t i = 0; i < index; i++) {
        if (slice_eq(offer->items[i].name, offer->items[index].name))
            return true;
    }
    return false;
}

/* Indexes of the offer's items without repeats, in order. */
static int32_t offer_distinct(const struct group_offer *offer, int32_t *ret_indexes)
{
    int32_t count = 0;
    struct map seen;
    map_init(&seen);
    for (int32_t i = 0; i < offer->count; i++) {
        if (offer->count <= MEMBER_LINEAR_MAX) {
            if (offer_has_before(offer, i))
                continue;
        } else {
            if (map_get(&seen, offer->items[i].name))
                continue;
            map_put(&seen, offer->items[i].name, (void *)&offer->items[i]);
        }
        ret_indexes[count++] = i;
    }
    map_fini(&seen);
    return count;
}

static struct slice place(uint8_t **at, struct slice s)
{
    if (s.size > 0)
        memcpy(*at, s.data, s.size);
    struct slice copy = slice_of(*at, s.size);
    *at += s.size;
    return copy;
}

void member_set_protocols(struct member *member, const struct group_offer *offer)
{
    int32_t *indexes = mem_array((size_t)offer->count + 1, sizeof *indexes);
    int32_t count = offer_distinct(offer, indexes);
    size_t size = (size_t)count * sizeof(struct member_protocol) + 1;
    for (int32_t i = 0; i < count; i++)
        size += offer->items[indexes[i]].name.size + offer->items[indexes[i]].metadata.size;
    struct member_protocol *protocols = mem_alloc(size);
    uint8_t *at = (uint8_t *)(protocols + count);
    for (int32_t i = 0; i < count; i++) {
        protocols[i].name = place(&at, offer->items[indexes[i]].name);
        protocols[i].metadata = place(&at, offer->items[indexes[i]].metadata);
    }
    mem_free(indexes);
    mem_free(member->protocols); /* last: the offer may be made of them */
    member->protocols = protocols;
    member->protocol_count = count;
}

bool member_matches(const struct member *member, const struct group_offer *offer)
{
    int32_t *indexes = mem_array((size_t)offer->count + 1, sizeof *indexes);
    int32_t count = offer_distinct(offer, indexes);
    bool same = count == member->protocol_count;
    for (int32_t i = 0; same && i < count; i++) {
        const struct member_protocol *item = &offer->items[indexes[i]];
        same = slice_eq(item->name, member->protocols[i].name) &&
               item->metadata.size == member->protocols[i].metadata.size &&
               (item->metadata.size == 0 ||
                memcmp(item->metadata.data, member->protocols[i].metadata.data,
                       item->metadata.size) == 0);
    }
    mem_free(indexes);
    return same;
}

struct slice member_metadata(const struct member *member, struct slice protocol)
{
    for (int32_t i = 0; i < member->protocol_count; i++) {
        if (slice_eq(member->protocols[i].name, protocol))
            return member->protocols[i].metadata;
    }
    return SLICE_NULL;
}

void member_set_assignment(struct member *member, struct slice assignment)
{
    struct slice copy = slice_dup(assignment.data ? assignment : SLICE_LIT(""));
    slice_free(&member->assignment);
    member->assignment = copy;
}
