/* The checks of transactions: see txn_model.h. A difference ends the run through world_fail.
 *
 * Two views agree or the run fails: the markers in each partition's log (the walk of a scan, with
 * everything visible) and what a read_committed client shows, which knows only the markers after
 * its position and the list of aborted transactions in the answer. */
#include "base/mem.h"
#include "model.h"
#include "record/batch.h"
#include "record/control.h"
#include "wire_fetch.h"
#include "world.h"

uint64_t model_txn_new(struct model *model, int cell)
{
    if (model->txn_count + 1 >= model->txn_capacity) {
        model->txn_capacity = model->txn_capacity * 2 + 256;
        model->txns = mem_realloc(model->txns, model->txn_capacity * sizeof model->txns[0]);
    }
    uint64_t number = ++model->txn_count;
    model->txns[number] = (struct model_txn){.cell = cell};
    return number;
}

struct model_txn *model_txn(struct model *model, uint64_t number)
{
    return number >= 1 && number <= model->txn_count ? &model->txns[number] : NULL;
}

void model_txn_see(struct model *model, uint64_t number, bool committed, const char *where)
{
    struct model_txn *txn = model_txn(model, number);
    if (txn->loose)
        return;
    bool wrong = committed ? !txn->commit_sent || txn->abort_acked || txn->seen_aborted
                           : txn->commit_acked || txn->seen_committed;
    if (wrong)
        world_fail("transaction %llu of %s is %s, %s says; commit %s, abort %s; seen before: %s",
                   (unsigned long long)number, model->cells[txn->cell].id,
                   committed ? "committed" : "aborted", where,
                   txn->commit_acked  ? "acknowledged"
                   : txn->commit_sent ? "sent"
                                      : "never sent",
                   txn->abort_acked ? "acknowledged" : "not acknowledged",
                   txn->seen_committed ? "committed"
                   : txn->seen_aborted ? "aborted"
                                       : "nothing");
    txn->seen_committed |= committed;
    txn->seen_aborted |= !committed;
    model->outcomes_seen[committed]++;
}

void model_cell_given(struct model *model, int cell, const struct model_cell *before,
                      int64_t producer_id, int32_t epoch, bool again)
{
    struct model_cell *c = &model->cells[cell];
    if (world_watches(c->id, cell))
        world_say("%s: producer %lld, epoch %d%s", c->id, (long long)producer_id, epoch,
                  again ? " (perhaps again)" : "");
    if (producer_id < 0 || epoch < 0)
        world_fail("%s: producer id %lld, epoch %d", c->id, (long long)producer_id, epoch);
    if (producer_id != c->producer_id) {
        model_producer_id(model, producer_id);
        c->producer_id = producer_id;
        c->epoch = epoch;
        return;
    }
    if (before->producer_id == producer_id && epoch < before->epoch + !again && !model->txn_loose)
        world_fail("%s: epoch %d of producer %lld was given after %d", c->id, epoch,
                   (long long)producer_id, before->epoch);
    if (epoch > c->epoch)
        c->epoch = epoch;
}

void model_cell_read(struct model *model, int cell, int64_t floor, int64_t value)
{
    struct model_cell *c = &model->cells[cell];
    if (value < floor)
        world_fail("%s: offset %lld was committed, then %lld was read", c->group, (long long)floor,
                   (long long)value);
    if (value == -1)
        return;
    struct model_txn *txn = model_txn(model, (uint64_t)value);
    if (!txn || txn->cell != cell || !txn->has_offset)
        world_fail("%s: the committed offset is %lld, which was never sent", c->group,
                   (long long)value);
    model_txn_see(model, (uint64_t)value, true, "a committed offset");
    if (!txn->loose && value > c->offset_floor)
        c->offset_floor = value;
}

/* ---- reads -----------------------------------------------------------------------------------
 */

static bool active_has(const struct model_view *view, int64_t producer_id, int *ret_at)
{
    for (*ret_at = 0; *ret_at < view->active_count; ++*ret_at)
        if (view->active[*ret_at] == producer_id)
            return true;
    return false;
}

/* The aborted transactions that begin in this batch or before it. */
static void activate(struct model_view *view, int64_t offset_last)
{
    for (int32_t i = 0; i < view->aborted_count; i++) {
        int at;
        if (view->aborted[i].first_offset > offset_last ||
            view->aborted[i].first_offset <= view->activated_to ||
            active_has(view, view->aborted[i].producer_id, &at))
            continue;
        if (view->active_count == MODEL_PENDING_MAX)
            world_fail("more than %d aborted transactions at once", MODEL_PENDING_MAX);
        view->active[view->active_count++] = view->aborted[i].producer_id;
    }
    view->activated_to = offset_last;
}

enum marker { MARKER_EMPTY, MARKER_ABORT, MARKER_COMMIT };

/* A cleaner may take the marker and leave its batch, for the producer's sake. */
static enum marker marker_of(struct model_partition *p, const struct batch_info *info)
{
    if (p->topic->compacted && batch_record_count(info->data) == 0)
        return MARKER_EMPTY;
    struct records_iter iter;
    struct record record;
    struct control_end_txn marker;
    enum err err = records_iter_init(&iter, slice_of(info->data, info->size), 0);
    bool found = !err && records_iter_next(&iter, &record);
    if (!found || control_parse_end_txn(&record, &marker))
        world_fail("%s-%d: the control batch at %lld is no marker", p->topic->name, p->index,
                   (long long)info->offset_base);
    records_iter_fini(&iter);
    return marker.is_commit ? MARKER_COMMIT : MARKER_ABORT;
}

/* In a walk: the marker ends what its producer has pending. */
static void end_pending(struct model *model, struct model_partition *p, int64_t producer_id,
                        bool commit)
{
    for (int i = 0; i < p->pending_count; i++) {
        if (p->pending[i].producer_id != producer_id)
            continue;
        uint64_t txn = p->pending[i].txn;
        p->pending[i] = p->pending[--p->pending_count];
        char where[80];
        snprintf(where, sizeof where, "the marker in %s-%d", p->topic->name, p->index);
        model_txn_see(model, txn, commit, where);
        return;
    }
}

static void add_pending(struct model *model, struct model_partition *p, int64_t producer_id,
                        uint64_t txn)
{
    for (int i = 0; i < p->pending_count; i++) {
        if (p->pending[i].producer_id != producer_id)
            continue;
        if (p->pending[i].txn != txn && !model_txn(model, p->pending[i].txn)->loose)
            world_fail("%s-%d: transactions %llu and %llu of producer %lld without a marker "
                       "between them",
                       p->topic->name, p->index, (unsigned long long)p->pending[i].txn,
                       (unsigned long long)txn, (long long)producer_id);
        p->pending[i].txn = txn;
        return;
    }
    if (p->pending_count == MODEL_PENDING_MAX)
        world_fail("%s-%d: more than %d open transactions", p->topic->name, p->index,
                   MODEL_PENDING_MAX);
    p->pending[p->pending_count++] = (struct model_pending){producer_id, txn};
}

bool model_view_batch(struct model *model, struct model_partition *p, struct model_view *view,
                      const struct batch_info *info)
{
    if (!view)
        return true;
    int64_t producer_id = batch_producer_id(info->data);
    bool is_control = info->attributes & BATCH_CONTROL;
    enum marker marker = is_control ? marker_of(p, info) : MARKER_EMPTY;
    if (world_watches(p->topic->name, p->index))
        world_say("%s-%d: %lld to %lld, %d records%s%s, producer %lld, epoch %d, sequence %d",
                  p->topic->name, p->index, (long long)info->offset_base,
                  (long long)info->offset_last, batch_record_count(info->data),
                  info->attributes & BATCH_TRANSACTIONAL ? ", transactional" : "",
                  marker == MARKER_COMMIT  ? " COMMIT"
                  : marker == MARKER_ABORT ? " ABORT"
                                           : "",
                  (long long)producer_id, batch_producer_epoch(info->data),
                  batch_base_sequence(info->data));
    if (is_control) {
        int at;
        if (view->walk)
            end_pending(model, p, producer_id, marker == MARKER_COMMIT);
        activate(view, info->offset_last);
        if (marker == MARKER_ABORT && active_has(view, producer_id, &at))
            view->active[at] = view->active[--view->active_count];
        return false;
    }
    activate(view, info->offset_last);
    int at;
    return !(info->attributes & BATCH_TRANSACTIONAL) || !active_has(view, producer_id, &at);
}

void model_view_record(struct model *model, struct model_partition *p,
                       const struct model_view *view, const struct batch_info *info, bool shown,
                       uint64_t txn)
{
    bool is_transactional = info->attributes & BATCH_TRANSACTIONAL;
    if (is_transactional != (txn != 0))
        world_fail("%s-%d: the batch at offset %lld is%s transactional, its record is not so",
                   p->topic->name, p->index, (long long)info->offset_base,
                   is_transactional ? "" : " not");
    if (!txn || !view)
        return;
    if (view->walk)
        add_pending(model, p, batch_producer_id(info->data), txn);
    char where[80];
    snprintf(where, sizeof where, "a read of %s-%d at %lld", p->topic->name, p->index,
             (long long)info->offset_base);
    if (view->committed)
        model_txn_see(model, txn, shown, where);
}

void model_txn_power_cut(struct model *model)
{
    model->txn_loose = true;
    for (uint64_t i = 1; i <= model->txn_count; i++)
        model->txns[i].loose = true;
    for (int i = 0; i < MODEL_CELLS_MAX; i++)
        model->cells[i].offset_floor = -1;
}
