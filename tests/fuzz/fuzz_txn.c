/* Arbitrary bytes as the log of a transaction coordinator, and arbitrary requests after it: every
 * request is answered once, and the log gives back what lived.
 *
 * Input: a first byte (bit 0: the log is records, each `uint8 key size, uint8 value size (255 =
 * null), key, value`, else whole batches; bits 1 and 2: transaction.version), a big-endian uint16
 * size of the log, the log, and operations of four bytes: what, whom, who it says it is, with what.
 */
#include "fuzz.h"

#include "base/be.h"
#include "base/buf.h"
#include "base/ensure.h"
#include "coord/runtime.h"
#include "coord/txns.h"
#include "record/builder.h"
#include "wire/codec.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_describe_transactions.h"
#include "wire_end_txn.h"
#include "wire_init_producer_id.h"
#include "wire_list_transactions.h"

enum { IDS = 4 };

struct run {
    struct coord_shard *shard;
    struct coord_event event;
    struct buf log;
    int64_t offset_next, committed;
    bool hold, fails;
    struct arena arena;
    struct list markers;
    int64_t producer_id_next;
    long asked, answered;
};

static enum err append(void *ctx, int32_t partition, struct slice batch, int64_t *ret_offset_next,
                       int64_t *ret_committed)
{
    struct run *run = ctx;
    (void)partition;
    if (run->fails)
        return ERR_KAFKA_STORAGE_ERROR;
    size_t at = run->log.size;
    buf_put_slice(&run->log, batch);
    batch_set_base_offset(run->log.data + at, run->offset_next);
    run->offset_next = batch_offset_next(run->log.data + at);
    if (!run->hold)
        run->committed = run->offset_next;
    *ret_offset_next = run->offset_next;
    *ret_committed = run->committed;
    return ERR_NONE;
}

struct call {
    struct coord_reply reply;
    struct run *run;
    union {
        struct init_producer_id_response init;
        struct add_partitions_to_txn_response_add_partitions_to_txn_result add;
        struct add_offsets_to_txn_response offsets;
        struct end_txn_response end;
    } response;
};

static void done(struct coord_reply *reply)
{
    LIST_ITEM(reply, struct call, reply)->run->answered++;
}

static struct coord_reply *new_reply(struct run *run)
{
    struct call *call = arena_alloc(&run->arena, sizeof *call);
    call->run = run;
    call->reply =
        (struct coord_reply){.arena = &run->arena, .response = &call->response, .done = done};
    run->asked++;
    return &call->reply;
}

static void deliver(struct run *run, struct coord_update *update)
{
    list_move_all(&run->markers, &update->markers);
    coord_update_deliver(update);
}

static void write_markers(struct run *run, struct coord_update *update)
{
    struct list *node;
    while ((node = list_pop_front(&run->markers))) {
        struct coord_txn_markers *markers = LIST_ITEM(node, struct coord_txn_markers, link);
        for (size_t i = 0; i < markers->count; i++) {
            coord_txn_markers_done(run->shard, &run->event, markers, i, update);
            deliver(run, update);
        }
        coord_txn_markers_free(markers);
    }
}

static struct slice id_of(unsigned which)
{
    static const char *const names[IDS] = {"a", "b", "c", ""};
    return slice_str(names[which % IDS]);
}

static void init(struct run *run, const uint8_t *op, struct coord_update *update)
{
    struct init_producer_id_request *r = arena_alloc(&run->arena, sizeof *r);
    wire_init(&wire_init_producer_id_request, r);
    r->transactional_id = id_of(op[1]);
    r->transaction_timeout_ms = op[3] * 5000;
    if (op[2] & 1) {
        r->producer_id = 1000 + (op[2] >> 4);
        r->producer_epoch = op[2] >> 1 & 7;
    }
    struct coord_reply *reply = new_reply(run);
    run->event.version = 5;
    if (!coord_txn_init(run->shard, &run->event, r, -1, reply, update))
        ENSURE(coord_txn_init(run->shard, &run->event, r, run->producer_id_next++, reply, update));
}

static void add(struct run *run, const uint8_t *op, struct coord_update *update)
{
    struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *r =
        arena_alloc(&run->arena, sizeof *r);
    r->transactional_id = id_of(op[1]);
    r->producer_id = 1000 + (op[2] >> 4);
    r->producer_epoch = op[2] & 15;
    r->verify_only = op[3] & 1;
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic *topic =
        add_partitions_to_txn_request_add_partitions_to_txn_transaction_topics_new(&run->arena, r,
                                                                                   1);
    topic->name = op[3] & 2 ? SLICE_LIT("t") : SLICE_LIT("u");
    *add_partitions_to_txn_request_add_partitions_to_txn_topic_partitions_new(&run->arena, topic,
                                                                              1) = op[3] >> 4;
    run->event.version = op[3] & 4 ? 3 : 5;
    coord_txn_add_partitions(run->shard, &run->event, r, new_reply(run), update);
}

static void add_offsets(struct run *run, const uint8_t *op, struct coord_update *update)
{
    struct add_offsets_to_txn_request r;
    wire_init(&wire_add_offsets_to_txn_request, &r);
    r.transactional_id = id_of(op[1]);
    r.producer_id = 1000 + (op[2] >> 4);
    r.producer_epoch = op[2] & 15;
    run->event.version = 4;
    coord_txn_add_offsets(run->shard, &run->event, &r, op[3], new_reply(run), update);
}

static void end(struct run *run, const uint8_t *op, struct coord_update *update)
{
    struct end_txn_request r;
    wire_init(&wire_end_txn_request, &r);
    r.transactional_id = id_of(op[1]);
    r.producer_id = 1000 + (op[2] >> 4);
    r.producer_epoch = op[2] & 15;
    r.committed = op[3] & 1;
    run->event.version = op[3] & 2 ? 4 : 5;
    struct coord_reply *reply = new_reply(run);
    if (!coord_txn_end(run->shard, &run->event, &r, -1, reply, update))
        ENSURE(coord_txn_end(run->shard, &run->event, &r, run->producer_id_next++, reply, update));
}

static void commit(struct run *run, struct coord_update *update)
{
    run->committed = run->offset_next;
    coord_shard_committed(run->shard, &run->event, run->committed, update);
}

static void operate(struct run *run, const uint8_t *op, struct coord_update *update)
{
    run->hold = op[0] & 0x80;
    run->fails = op[0] & 0x40;
    switch (op[0] & 7) {
    case 0: init(run, op, update); break;
    case 1:
    case 2: add(run, op, update); break;
    case 3: add_offsets(run, op, update); break;
    case 4: end(run, op, update); break;
    case 5: write_markers(run, update); break;
    case 6: commit(run, update); break;
    default:
        run->event.now_ms += op[3] * INT64_C(100000);
        run->event.wall_ms += op[3] * INT64_C(100000);
        coord_shard_tick(run->shard, &run->event, update);
        break;
    }
    deliver(run, update);
}

/* What the ids are, as text; partitions of a transaction that ends go as its markers are told. */
static void look(struct run *run, struct coord_shard *shard, struct buf *out)
{
    struct list_transactions_request all;
    struct list_transactions_response listed;
    wire_init(&wire_list_transactions_request, &all);
    struct coord_txn_list *list = coord_txn_list_begin(&all, &run->arena, &listed);
    coord_txn_list_take(list, shard, &run->event);
    while (coord_txn_list_match(list)) {
    }
    coord_txn_list_end(list);
    buf_printf(out, "%d\n", listed.transaction_states_count);
    for (unsigned i = 0; i < IDS; i++) {
        struct describe_transactions_response_transaction_state s;
        coord_txn_describe(shard, &run->event, id_of(i), &run->arena, &s);
        buf_printf(out, "%d %.*s %lld %d %d %lld %d\n", s.error_code,
                   SLICE_FMT(s.transaction_state), (long long)s.producer_id, s.producer_epoch,
                   s.transaction_timeout_ms, (long long)s.transaction_start_time_ms,
                   slice_eq_str(s.transaction_state, "Ongoing") ? s.topics_count : 0);
    }
}

static void reload(struct run *run, const struct coord_config *config, struct coord_update *update)
{
    struct buf live, loaded;
    buf_init(&live);
    buf_init(&loaded);
    run->hold = run->fails = false;
    commit(run, update);
    deliver(run, update);
    look(run, run->shard, &live);
    coord_shard_unload(run->shard, update);
    deliver(run, update);
    coord_shard_free(run->shard);
    run->shard =
        coord_shard_new(COORD_TRANSACTIONS, config, &(struct coord_writer){run, append}, 0);
    ENSURE(coord_shard_load(run->shard, buf_slice(&run->log)) == ERR_NONE);
    run->fails = true; /* or it would go on where it stands */
    coord_shard_activate(run->shard, &run->event, run->offset_next, 1, update);
    deliver(run, update);
    look(run, run->shard, &loaded);
    ENSURE(live.size == loaded.size && memcmp(live.data, loaded.data, live.size) == 0);
    buf_fini(&live);
    buf_fini(&loaded);
}

static void put_records(struct run *run, const uint8_t *data, size_t size)
{
    struct builder_options options = BUILDER_DEFAULTS;
    while (size >= 2) {
        size_t key_size = data[0], value_size = data[1] == 255 ? 0 : data[1];
        bool tombstone = data[1] == 255;
        if (key_size + value_size > size - 2)
            break;
        struct builder builder;
        options.base_offset = run->offset_next++;
        builder_begin(&builder, &run->log, &options);
        builder_append(&builder, 0, slice_of(data + 2, key_size),
                       tombstone ? SLICE_NULL : slice_of(data + 2 + key_size, value_size));
        if (builder_end(&builder))
            return;
        data += 2 + key_size + value_size;
        size -= 2 + key_size + value_size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t log_size = be_u16(data + 1);
    if (log_size > size - 3)
        log_size = size - 3;
    struct run run = {.producer_id_next = 1000,
                      .event = {.now_ms = 1000, .wall_ms = INT64_C(1) << 41}};
    struct coord_config config;
    coord_config_init(&config);
    config.transaction_version = (int16_t)((data[0] >> 1 & 3) % 3);
    buf_init(&run.log);
    arena_init(&run.arena);
    list_init(&run.markers);
    run.shard =
        coord_shard_new(COORD_TRANSACTIONS, &config, &(struct coord_writer){&run, append}, 0);
    if (data[0] & 1)
        put_records(&run, data + 3, log_size);
    else
        buf_put(&run.log, data + 3, log_size);
    struct coord_update update;
    coord_update_init(&update);
    if (coord_shard_load(run.shard, buf_slice(&run.log)) == ERR_NONE) {
        run.offset_next = run.committed = 1 << 20;
        coord_shard_activate(run.shard, &run.event, run.offset_next, 0, &update);
        deliver(&run, &update);
        const uint8_t *op = data + 3 + log_size, *op_end = data + size;
        for (; op_end - op >= 4; op += 4)
            operate(&run, op, &update);
        reload(&run, &config, &update);
        write_markers(&run, &update);
    }
    coord_shard_unload(run.shard, &update);
    deliver(&run, &update);
    ENSURE_CMP(run.asked, ==, run.answered);
    write_markers(&run, &update);
    coord_shard_free(run.shard);
    buf_fini(&run.log);
    arena_fini(&run.arena);
    return 0;
}
