/* Verification entries of one log, as Kafka's VerificationStateEntry and the part of its
 * ProducerStateManager that keeps them. Entries are few and short-lived: an append or a marker of
 * the producer ends one, and those that were never followed by either expire with the producers, or
 * give way to newer ones (Kafka lets them be as many as come).
 *
 * The lowest sequence seen is kept because batches of one producer are verified one by one: should
 * the first of them fail and be sent again, a later one must not be the first in the log. Under the
 * log's lock. */
#include "store/verification.h"

#include "base/mem.h"

void verifications_init(struct verifications *all, int64_t seed)
{
    *all = (struct verifications){.guard_last = seed & INT64_MAX};
}

void verifications_fini(struct verifications *all)
{
    for (size_t i = 0; i < map_count(&all->entries); i++)
        mem_free(map_at(&all->entries, i));
    map_fini(&all->entries);
    *all = (struct verifications){.guard_last = all->guard_last};
}

static struct verification *find(const struct verifications *all, int64_t producer_id)
{
    return map_count(&all->entries) ? map_get(&all->entries, MAP_KEY(producer_id)) : NULL;
}

const struct verification *verifications_get(const struct verifications *all, int64_t producer_id)
{
    return find(all, producer_id);
}

static int64_t next_guard(struct verifications *all)
{
    all->guard_last = all->guard_last == INT64_MAX ? 1 : all->guard_last + 1;
    return all->guard_last;
}

/* ---- by age -----------------------------------------------------------------------------------
 */

static void link_newest(struct verifications *all, struct verification *entry)
{
    entry->older = all->newest;
    entry->newer = NULL;
    if (all->newest)
        all->newest->newer = entry;
    else
        all->oldest = entry;
    all->newest = entry;
}

static void unlink_entry(struct verifications *all, struct verification *entry)
{
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        all->oldest = entry->newer;
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        all->newest = entry->older;
}

static void drop(struct verifications *all, struct verification *entry)
{
    unlink_entry(all, entry);
    map_remove(&all->entries, MAP_KEY(entry->producer_id));
    mem_free(entry);
    if (!map_count(&all->entries))
        verifications_fini(all);
}

/* ---- entries ----------------------------------------------------------------------------------
 */

const struct verification *verifications_begin(struct verifications *all, int64_t producer_id,
                                               int16_t epoch, int32_t sequence, bool epoch_bump,
                                               int64_t now_ms)
{
    struct verification *entry = find(all, producer_id);
    if (!entry) {
        entry = mem_alloc(sizeof *entry);
        *entry = (struct verification){.producer_id = producer_id,
                                       .guard = next_guard(all),
                                       .started_ms = now_ms,
                                       .sequence_lowest = sequence,
                                       .epoch = epoch,
                                       .epoch_bump = epoch_bump};
        if (map_count(&all->entries) >= VERIFICATIONS_MAX)
            drop(all, all->oldest);
        map_put(&all->entries, MAP_KEY(entry->producer_id), entry);
        link_newest(all, entry);
        return entry;
    }
    unlink_entry(all, entry);
    link_newest(all, entry);
    if (epoch > entry->epoch) {
        entry->epoch = epoch;
        entry->sequence_lowest = sequence;
    } else if (epoch == entry->epoch && sequence < entry->sequence_lowest) {
        entry->sequence_lowest = sequence;
    }
    return entry;
}

void verifications_end(struct verifications *all, int64_t producer_id, int16_t epoch, bool marker)
{
    struct verification *entry = find(all, producer_id);
    if (!entry || (marker && entry->epoch_bump && entry->epoch == epoch))
        return;
    drop(all, entry);
}

void verifications_expire(struct verifications *all, int64_t now_ms, int64_t expiry_ms)
{
    for (size_t i = map_count(&all->entries); i-- > 0;) {
        struct verification *entry = map_at(&all->entries, i);
        if (now_ms - entry->started_ms >= expiry_ms)
            drop(all, entry);
    }
}
