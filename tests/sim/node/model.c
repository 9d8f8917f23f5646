/* The checks of what clients were told. Each violation ends the run through world_fail, which
 * prints the seed.
 *
 * A slot is first known from the answer to a produce request or from a read, whichever comes first;
 * from then on the same offset must give the same record. Only a power cut may take slots away, and
 * only as a suffix: the scan after it (model_scan_end) says where the log ends now, checks that
 * nothing promised stood there, and forgets the rest. */
#include "model.h"

#include "base/mem.h"
#include "record/batch.h"
#include "record/builder.h"
#include "record/records.h"
#include "world.h"

void model_init(struct model *model)
{
    *model = (struct model){0};
    for (int g = 0; g < MODEL_GROUPS_MAX; g++) {
        struct model_group *group = &model->groups[g];
        snprintf(group->name, sizeof group->name, "group-%d", g);
        for (int t = 0; t < MODEL_TOPICS_MAX; t++)
            for (int p = 0; p < MODEL_PARTITIONS_MAX; p++)
                group->commits[t][p] = (struct model_commit){-1, INT64_MAX, -1, false};
    }
    for (int i = 0; i < MODEL_CELLS_MAX; i++) {
        struct model_cell *cell = &model->cells[i];
        *cell = (struct model_cell){.producer_id = -1, .offset_floor = -1};
        snprintf(cell->id, sizeof cell->id, "txn-%d", i);
        snprintf(cell->group, sizeof cell->group, "txn-group-%d", i);
    }
}

void model_fini(struct model *model)
{
    for (int32_t t = 0; t < model->topic_count; t++)
        for (int p = 0; p < MODEL_PARTITIONS_MAX; p++)
            mem_free(model->topics[t].partitions[p].slots);
    mem_free(model->places);
    mem_free(model->producer_ids);
    mem_free(model->txns);
}

/* ---- topics ----------------------------------------------------------------------------------
 */

struct model_topic *model_topic_new(struct model *model)
{
    if (model->topic_count == MODEL_TOPICS_MAX)
        return NULL;
    struct model_topic *topic = &model->topics[model->topic_count];
    snprintf(topic->name, sizeof topic->name, "topic-%d", model->topic_count);
    model->topic_count++;
    topic->state = MODEL_UNKNOWN;
    topic->config = -1;
    for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++)
        topic->partitions[p] = (struct model_partition){.topic = topic, .index = p, .epoch = -1};
    return topic;
}

struct model_topic *model_topic_by_name(struct model *model, struct slice name)
{
    for (int32_t i = 0; i < model->topic_count; i++)
        if (slice_eq_str(name, model->topics[i].name))
            return &model->topics[i];
    return NULL;
}

struct model_topic *model_topic_by_id(struct model *model, const struct uuid *id)
{
    for (int32_t i = 0; i < model->topic_count; i++)
        if (uuid_eq(id, &model->topics[i].id))
            return &model->topics[i];
    return NULL;
}

struct model_topic *model_topic_any(struct model *model, uint64_t draw)
{
    uint64_t count = 0;
    for (int32_t i = 0; i < model->topic_count; i++)
        count += model->topics[i].state == MODEL_EXISTS;
    uint64_t left = count ? draw % count : 0;
    for (int32_t i = 0; count && i < model->topic_count; i++)
        if (model->topics[i].state == MODEL_EXISTS && left-- == 0)
            return &model->topics[i];
    return NULL;
}

/* ---- records ---------------------------------------------------------------------------------
 */

void model_producer_id(struct model *model, int64_t producer_id)
{
    for (size_t i = 0; i < model->producer_id_count; i++)
        if (model->producer_ids[i] == producer_id)
            world_fail("producer id %lld was given out before", (long long)producer_id);
    if (model->producer_id_count == model->producer_id_capacity) {
        model->producer_id_capacity = model->producer_id_capacity * 2 + 16;
        model->producer_ids = mem_realloc(model->producer_ids, model->producer_id_capacity *
                                                                   sizeof model->producer_ids[0]);
    }
    model->producer_ids[model->producer_id_count++] = producer_id;
}

uint64_t model_id_new(struct model *model, bool idempotent, uint64_t txn)
{
    if (model->place_count + 1 >= model->place_capacity) {
        size_t old = model->place_capacity;
        model->place_capacity = old ? old * 2 : 1024;
        model->places = mem_realloc(model->places, model->place_capacity * sizeof model->places[0]);
        memset(model->places + old, 0, (model->place_capacity - old) * sizeof model->places[0]);
    }
    uint64_t id = ++model->place_count;
    model->places[id].idempotent = idempotent;
    model->places[id].txn = txn;
    return id;
}

/* The id, then bytes that follow from it; of a length that does, too. */
/* A record's value: its id, then bytes that follow from it. */
static uint64_t value_mix(uint64_t id, size_t *ret_size)
{
    uint64_t mix = id * UINT64_C(0x9e3779b97f4a7c15);
    *ret_size = mix % 16 == 0 ? (mix >> 8) % 3000 : (mix >> 8) % 100;
    return mix;
}

/* Byte i is mix >> (i % 7 * 8) ^ i / 5, without a division for each. */
struct value_bytes {
    uint64_t mix;
    unsigned shift, fifths, in_fifth;
};

static inline uint8_t value_next(struct value_bytes *v)
{
    uint8_t byte = (uint8_t)(v->mix >> v->shift ^ v->fifths);
    v->shift = v->shift == 48 ? 0 : v->shift + 8;
    v->in_fifth++;
    if (v->in_fifth == 5) {
        v->in_fifth = 0;
        v->fifths++;
    }
    return byte;
}

static void model_value(uint64_t id, struct buf *out)
{
    size_t size;
    struct value_bytes v = {.mix = value_mix(id, &size)};
    buf_put_i64(out, (int64_t)id);
    uint8_t *bytes = buf_extend(out, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = value_next(&v);
}

/* The first few keys are deleted now and then. */
enum { KEYS = 13, KEYS_DELETED = 4 };

static uint64_t key_of(uint64_t id)
{
    return id % KEYS;
}

static bool is_tombstone(uint64_t id)
{
    return key_of(id) < KEYS_DELETED && id / KEYS % 3 == 0;
}

void model_append(const struct model_topic *topic, uint64_t id, int64_t timestamp,
                  struct builder *builder)
{
    struct buf value;
    buf_init(&value);
    model_value(id, &value);
    if (!topic->compacted) {
        builder_append(builder, timestamp, SLICE_NULL, buf_slice(&value));
    } else {
        char key[16];
        int size = snprintf(key, sizeof key, "key-%d", (int)key_of(id));
        struct record_header header = {SLICE_LIT("id"), buf_slice(&value)};
        bool deletes = is_tombstone(id);
        builder_append_full(builder, builder->record_count, timestamp, slice_of(key, (size_t)size),
                            deletes ? SLICE_NULL : buf_slice(&value), deletes ? &header : NULL,
                            deletes);
    }
    buf_fini(&value);
}

static uint64_t id_of_value(struct slice value)
{
    uint64_t id = value.size >= 8 ? be_u64(value.data) : 0;
    size_t size;
    struct value_bytes v = {.mix = value_mix(id, &size)};
    if (!id || value.size != 8 + size)
        return 0;
    for (size_t i = 0; i < size; i++)
        if (value.data[8 + i] != value_next(&v))
            return 0;
    return id;
}

/* The id of a record that is as it was sent; else 0. */
static uint64_t id_of(const struct model_topic *topic, const struct record *record)
{
    if (!topic->compacted)
        return record->key.data ? 0 : id_of_value(record->value);
    struct slice value = record->value, headers = record->headers;
    struct record_header header;
    if (!value.data && record_header_next(&headers, &header))
        value = header.value;
    uint64_t id = id_of_value(value);
    char key[16];
    snprintf(key, sizeof key, "key-%d", (int)key_of(id));
    return slice_eq_str(record->key, key) && is_tombstone(id) == !record->value.data ? id : 0;
}

static struct model_slot *slot_at(struct model_partition *p, int64_t offset)
{
    if (offset >= p->slot_capacity) {
        int64_t old = p->slot_capacity;
        p->slot_capacity = offset < 512 ? 1024 : offset * 2;
        p->slots = mem_realloc(p->slots, (size_t)p->slot_capacity * sizeof p->slots[0]);
        memset(p->slots + old, 0, (size_t)(p->slot_capacity - old) * sizeof p->slots[0]);
    }
    if (offset >= p->slot_count)
        p->slot_count = offset + 1;
    return &p->slots[offset];
}

/* The record `id` stands at `offset`. */
static struct model_slot *place(struct model *model, struct model_partition *p, int64_t offset,
                                uint64_t id, const char *how)
{
    struct model_slot *slot = slot_at(p, offset);
    if (slot->id && slot->id != id)
        world_fail("%s-%d: offset %lld held record %llu%s, %s says %llu", p->topic->name, p->index,
                   (long long)offset, (unsigned long long)slot->id,
                   slot->acked ? " (acknowledged)" : "", how, (unsigned long long)id);
    slot->id = id;
    if (id > model->place_count)
        world_fail("%s-%d: record %llu was never sent", p->topic->name, p->index,
                   (unsigned long long)id);
    struct model_place *at = &model->places[id];
    if (at->partition && at->idempotent && (at->partition != p || at->offset != offset))
        world_fail("record %llu of an idempotent producer is at %s-%d:%lld and, %s says, at "
                   "%s-%d:%lld",
                   (unsigned long long)id, at->partition->topic->name, at->partition->index,
                   (long long)at->offset, how, p->topic->name, p->index, (long long)offset);
    at->partition = p;
    at->offset = offset;
    return slot;
}

void model_acked(struct model *model, struct model_partition *p, int64_t offset, uint64_t id_first,
                 int32_t count, int flush_changes)
{
    if (offset < 0)
        world_fail("%s-%d: acknowledged at offset %lld", p->topic->name, p->index,
                   (long long)offset);
    for (int32_t i = 0; i < count; i++) {
        struct model_slot *slot =
            place(model, p, offset + i, id_first + (uint64_t)i, "a produce answer");
        model->records_acked += !slot->acked;
        slot->acked = true;
    }
    if (offset + count > p->acked_end)
        p->acked_end = offset + count;
    if (flush_changes == p->topic->flush_changes && offset + count > p->synced_end)
        p->synced_end = offset + count;
}

static void forget_slot(struct model *model, struct model_partition *p, int64_t offset)
{
    struct model_slot *slot = &p->slots[offset];
    if (slot->id && slot->id != MODEL_MARKER && model->places[slot->id].partition == p &&
        model->places[slot->id].offset == offset)
        model->places[slot->id].partition = NULL;
    model->records_lost += slot->acked;
    *slot = (struct model_slot){0};
}

static void forget_from(struct model *model, struct model_partition *p, int64_t end)
{
    for (int64_t i = end; i < p->slot_count; i++)
        forget_slot(model, p, i);
    if (p->slot_count > end)
        p->slot_count = end;
    if (p->acked_end > end)
        p->acked_end = end;
    if (p->synced_end > end)
        p->synced_end = end;
    p->watermark = end;
    p->stable = 0; /* a marker may be gone */
}

/* A marker stands at an offset like a record, and never changes either. */
static void read_marker(struct model *model, struct model_partition *p,
                        const struct batch_info *info)
{
    struct model_slot *slot = slot_at(p, info->offset_base);
    uint32_t crc = batch_crc(info->data);
    if (p->topic->compacted)
        slot->crc = 0; /* with a delete horizon the head changes */
    if (p->lossy && info->offset_base >= p->keep_end &&
        (slot->id != MODEL_MARKER || (slot->crc && slot->crc != crc))) {
        /* The coordinator is the only one that writes before the scan after a power cut. */
        forget_from(model, p, info->offset_base);
        slot = slot_at(p, info->offset_base);
    }
    if (info->offset_last != info->offset_base || (slot->id && slot->id != MODEL_MARKER) ||
        (slot->crc && slot->crc != crc))
        world_fail("%s-%d: a marker at offset %lld to %lld, where record %llu stood (CRC %x, %x)",
                   p->topic->name, p->index, (long long)info->offset_base,
                   (long long)info->offset_last, (unsigned long long)slot->id, slot->crc, crc);
    slot->id = MODEL_MARKER;
    slot->crc = crc;
    slot->seen = true;
}

static void read_batch(struct model *model, struct model_partition *p,
                       const struct batch_info *info, struct model_view *view)
{
    struct slice bytes = slice_of(info->data, info->size);
    if (info->magic != BATCH_MAGIC || batch_check(bytes))
        world_fail("%s-%d: the batch at offset %lld is damaged", p->topic->name, p->index,
                   (long long)info->offset_base);
    model_epoch(p, info->leader_epoch);
    bool shown = model_view_batch(model, p, view, info);
    if (info->attributes & BATCH_CONTROL) {
        read_marker(model, p, info);
        return;
    }
    struct records_iter iter;
    int64_t offset = info->offset_base;
    enum err err = records_iter_init(&iter, bytes, 0);
    struct record record;
    while (!err && records_iter_next(&iter, &record)) {
        if (p->topic->compacted && record.offset > offset && record.offset <= info->offset_last)
            offset = record.offset;
        if (record.offset != offset)
            world_fail("%s-%d: a gap inside a batch: %lld after %lld", p->topic->name, p->index,
                       (long long)record.offset, (long long)offset);
        uint64_t id = id_of(p->topic, &record);
        if (!id)
            world_fail("%s-%d: the record at offset %lld was altered", p->topic->name, p->index,
                       (long long)offset);
        struct model_slot *slot = place(model, p, offset, id, "a read");
        if (slot->crc && (slot->epoch != info->leader_epoch || slot->crc != batch_crc(info->data)))
            world_fail("%s-%d: offset %lld was read with epoch %d and CRC %x, now %d and %x",
                       p->topic->name, p->index, (long long)offset, slot->epoch, slot->crc,
                       info->leader_epoch, batch_crc(info->data));
        slot->epoch = info->leader_epoch;
        slot->crc = p->topic->compacted ? 0 : batch_crc(info->data);
        slot->seen = true;
        model_view_record(model, p, view, info, shown, model->places[id].txn);
        model->records_seen++;
        offset++;
    }
    if (!err)
        err = iter.err;
    records_iter_fini(&iter);
    if (err || (offset != info->offset_last + 1 && !p->topic->compacted))
        world_fail("%s-%d: the batch at offset %lld has bad records: %s", p->topic->name, p->index,
                   (long long)info->offset_base, err_name(err));
}

int64_t model_read(struct model *model, struct model_partition *p, int64_t offset,
                   struct slice records, struct model_view *view)
{
    struct batch_iter iter = batch_iter_of(records);
    struct batch_info info;
    bool is_first = true;
    while (batch_iter_next(&iter, &info)) {
        bool follows = is_first ? info.offset_base <= offset && info.offset_last >= offset
                                : info.offset_base == offset;
        if (!follows && !(p->topic->compacted && info.offset_base > offset))
            world_fail("%s-%d: wanted offset %lld, the batch read is %lld to %lld", p->topic->name,
                       p->index, (long long)offset, (long long)info.offset_base,
                       (long long)info.offset_last);
        read_batch(model, p, &info, view);
        offset = info.offset_last + 1;
        is_first = false;
    }
    if (iter.err)
        world_fail("%s-%d: no batch at offset %lld", p->topic->name, p->index, (long long)offset);
    return offset;
}

int64_t model_read_lied(struct model_partition *p, int64_t offset, struct slice records)
{
    struct batch_iter batches = batch_iter_of(records);
    struct batch_info info;
    while (batch_iter_next(&batches, &info)) {
        struct slice bytes = slice_of(info.data, info.size);
        if (info.magic != BATCH_MAGIC || batch_check(bytes) || info.offset_last < offset)
            break;
        struct records_iter iter;
        struct record record;
        if (!(info.attributes & BATCH_CONTROL) && !records_iter_init(&iter, bytes, 0)) {
            while (records_iter_next(&iter, &record))
                if (!id_of(p->topic, &record))
                    world_fail("%s-%d: the record at offset %lld passes its checksum, and was "
                               "altered",
                               p->topic->name, p->index, (long long)record.offset);
            records_iter_fini(&iter);
        }
        offset = info.offset_last + 1;
    }
    return offset;
}

void model_watermark(struct model_partition *p, int64_t before, int64_t high_watermark,
                     int64_t log_start)
{
    if (high_watermark >= 0 && high_watermark < before && !p->lossy)
        world_fail("%s-%d%s: the high watermark went back from %lld to %lld", p->topic->name,
                   p->index, p->topic->flushes ? " (flushes)" : "", (long long)before,
                   (long long)high_watermark);
    if (high_watermark > p->watermark)
        p->watermark = high_watermark;
    if (log_start > p->start_max && !p->topic->retention)
        world_fail("%s-%d: the log starts at %lld, but nothing from %lld on was deleted",
                   p->topic->name, p->index, (long long)log_start, (long long)p->start_max);
}

void model_stable(struct model_partition *p, int64_t before, int64_t stable, int64_t high_watermark)
{
    if (stable < 0)
        return;
    if (stable > high_watermark)
        world_fail("%s-%d: the last stable offset %lld is beyond the high watermark %lld",
                   p->topic->name, p->index, (long long)stable, (long long)high_watermark);
    /* Up to a start that DeleteRecords moved it may be that start, which a crash may take back. */
    if (stable < before && before > p->start_max && !p->lossy)
        world_fail("%s-%d: the last stable offset went back from %lld to %lld", p->topic->name,
                   p->index, (long long)before, (long long)stable);
    if (stable != p->stable && world_watches(p->topic->name, p->index))
        world_say("%s-%d: last stable offset %lld, high watermark %lld", p->topic->name, p->index,
                  (long long)stable, (long long)high_watermark);
    if (stable > p->stable)
        p->stable = stable;
}

void model_epoch(struct model_partition *p, int32_t epoch)
{
    if (epoch > p->epoch)
        p->epoch = epoch;
}

/* ---- scans and crashes -----------------------------------------------------------------------
 */

void model_scan_begin(struct model_partition *p)
{
    p->scan_end = p->acked_end;
    p->pending_count = 0;
    for (int64_t i = 0; i < p->slot_count; i++)
        p->slots[i].seen = false;
}

/* The last record of each key that was ever seen must be there: from the end to the start. */
static void check_compacted(struct model *model, struct model_partition *p, int64_t log_start,
                            int64_t end)
{
    bool hidden[KEYS] = {false};
    for (int64_t i = (end < p->slot_count ? end : p->slot_count) - 1; i >= log_start; i--) {
        struct model_slot *slot = &p->slots[i];
        if (!slot->id || slot->id == MODEL_MARKER)
            continue;
        const struct model_txn *txn = model_txn(model, model->places[slot->id].txn);
        if (txn && (txn->seen_aborted || txn->abort_acked))
            continue;
        if (p->lossy && i >= p->keep_end && !slot->seen) { /* see docs/PROMISES.md */
            forget_slot(model, p, i);
            continue;
        }
        uint64_t key = key_of(slot->id);
        bool is_shown = !txn || (!txn->loose && (txn->commit_acked || txn->seen_committed));
        model->records_compacted += !slot->seen;
        if (!slot->seen && is_shown && !hidden[key] &&
            !(p->topic->tombstones_go && key < KEYS_DELETED))
            world_fail("%s-%d: the last record of key %d, at offset %lld%s, is not there (%lld to "
                       "%lld)",
                       p->topic->name, p->index, (int)key, (long long)i,
                       slot->acked ? " (acknowledged)" : "", (long long)log_start, (long long)end);
        hidden[key] |= slot->seen;
    }
}

void model_scan_end(struct model *model, struct model_partition *p, int64_t log_start, int64_t end)
{
    if (p->topic->compacted)
        check_compacted(model, p, log_start, end);
    for (int64_t i = log_start; !p->topic->compacted && i < end && i < p->slot_count; i++)
        if (p->slots[i].acked && !p->slots[i].seen)
            world_fail("%s-%d: the acknowledged record at offset %lld is not there (%lld to %lld)",
                       p->topic->name, p->index, (long long)i, (long long)log_start,
                       (long long)end);
    if (!p->lossy) {
        if (p->scan_end > end)
            world_fail("%s-%d: acknowledged up to %lld, but the log ends at %lld", p->topic->name,
                       p->index, (long long)p->scan_end, (long long)end);
        return;
    }
    if (p->keep_end > end && p->keep_end > p->start_max)
        world_fail("%s-%d: after the power cut the log ends at %lld, before the promised %lld",
                   p->topic->name, p->index, (long long)end, (long long)p->keep_end);
    forget_from(model, p, end);
    if (p->start_max > end) /* deleted records are gone, and their offsets are given again */
        p->start_max = end;
    p->lossy = false;
}

void model_power_cut(struct model *model, bool everything_flushes)
{
    for (int32_t t = 0; t < model->topic_count; t++) {
        struct model_topic *topic = &model->topics[t];
        for (int32_t i = 0; i < topic->partition_count; i++) {
            struct model_partition *p = &topic->partitions[i];
            int64_t floor = p->synced_end;
            if (topic->flushes || everything_flushes)
                floor = p->acked_end > p->watermark ? p->acked_end : p->watermark;
            p->keep_end = p->lossy && p->keep_end < floor ? p->keep_end : floor;
            p->lossy = true;
        }
    }
    if (!everything_flushes)
        model_txn_power_cut(model);
    for (int g = 0; !everything_flushes && g < MODEL_GROUPS_MAX; g++)
        for (int32_t t = 0; t < MODEL_TOPICS_MAX; t++)
            for (int32_t i = 0; i < MODEL_PARTITIONS_MAX; i++)
                model->groups[g].commits[t][i].acked = -1;
}

void model_recovery_point(struct model_partition *p, int64_t offset)
{
    if (p->lossy && offset > p->keep_end)
        p->keep_end = offset;
}

void model_restarted(struct model *model)
{
    for (int g = 0; g < MODEL_GROUPS_MAX; g++)
        for (int32_t t = 0; t < MODEL_TOPICS_MAX; t++)
            for (int32_t i = 0; i < MODEL_PARTITIONS_MAX; i++) {
                struct model_commit *commit = &model->groups[g].commits[t][i];
                if (commit->doubt_min < commit->acked)
                    commit->acked = commit->doubt_min;
                commit->doubt_min = INT64_MAX;
            }
}

/* ---- commits ---------------------------------------------------------------------------------
 */

void model_commit_sent(struct model_commit *commit, int64_t value)
{
    commit->sent_max = value;
    commit->under_way = true;
}

void model_commit_ended(struct model *model, struct model_commit *commit, int64_t value,
                        bool answered, bool accepted)
{
    commit->under_way = false;
    if (!answered && value < commit->doubt_min)
        commit->doubt_min = value;
    if (accepted && value > commit->acked) {
        commit->acked = value;
        model->commits_acked++;
    }
}

void model_commit_read(struct model *model, const struct model_group *group,
                       const struct model_topic *topic, int32_t partition,
                       const struct model_commit *before, int64_t value)
{
    (void)model;
    int64_t floor = before->acked < before->doubt_min ? before->acked : before->doubt_min;
    const struct model_commit *now = &group->commits[topic - model->topics][partition];
    if (value < floor || value > now->sent_max)
        world_fail("%s %s-%d: committed %lld, read %lld (last sent %lld)", group->name, topic->name,
                   partition, (long long)before->acked, (long long)value, (long long)now->sent_max);
}
