/* Arbitrary bytes as the log of a group coordinator: whatever is loaded, the shard that comes out
 * of it serves, expires and unloads without a crash or a leak.
 *
 * Input: a first byte whose lowest bit tells how the rest is read: 0 = record batches as they are
 * in the log (their CRC is not looked at by the loader); 1 = records, each `uint8 key size, uint8
 * value size (255 = null), key, value`, put into batches one by one, with a transaction and its
 * marker when bit 1 of the first byte is set. */
#include "fuzz.h"

#include "base/buf.h"
#include "coord/groups.h"
#include "coord/offsets.h"
#include "coord/runtime.h"
#include "record/builder.h"
#include "record/control.h"
#include "wire/codec.h"
#include "wire_describe_groups.h"
#include "wire_join_group.h"
#include "wire_list_groups.h"
#include "wire_offset_fetch.h"

struct log {
    int64_t offset_next;
};

static enum err append(void *ctx, int32_t partition, struct slice batch, int64_t *ret_offset_next,
                       int64_t *ret_committed)
{
    struct log *log = ctx;
    (void)partition;
    log->offset_next += batch_last_offset_delta(batch.data) + 1;
    *ret_offset_next = log->offset_next;
    *ret_committed = log->offset_next;
    return ERR_NONE;
}

static void put_records(struct buf *out, struct log *log, const uint8_t *data, size_t size,
                        bool transactional)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.transactional = transactional;
    options.producer_id = transactional ? 7 : -1;
    while (size >= 2) {
        size_t key_size = data[0], value_size = data[1] == 255 ? 0 : data[1];
        bool tombstone = data[1] == 255;
        if (key_size + value_size > size - 2)
            break;
        struct builder builder;
        options.base_offset = log->offset_next++;
        builder_begin(&builder, out, &options);
        builder_append(&builder, 0, slice_of(data + 2, key_size),
                       tombstone ? SLICE_NULL : slice_of(data + 2 + key_size, value_size));
        if (builder_end(&builder))
            return;
        data += 2 + key_size + value_size;
        size -= 2 + key_size + value_size;
    }
    if (transactional && size > 0)
        (void)control_build_end_txn(out, log->offset_next++, 0, 0, 7, 0,
                                    &(struct control_end_txn){data[0] & 1, 0});
}

static void done(struct coord_reply *reply)
{
    (void)reply;
}

/* Lists, describes, fetches and joins every group that is there. */
static void use(struct coord_shard *shard, struct coord_event *event, struct coord_update *update)
{
    struct arena arena;
    struct list_groups_request all;
    struct list_groups_response listed;
    arena_init(&arena);
    wire_init(&wire_list_groups_request, &all);
    wire_init(&wire_list_groups_response, &listed);
    coord_groups_list(shard, event, &all, &arena, &listed);
    for (int32_t i = 0; i < listed.groups_count && i < 16; i++) {
        struct describe_groups_response_described_group described;
        coord_groups_describe(shard, event, listed.groups[i].group_id, &arena, &described);
        struct offset_fetch_request_offset_fetch_request_group asked = {
            .group_id = listed.groups[i].group_id, .member_epoch = -1, .topics_count = -1};
        struct offset_fetch_response_offset_fetch_response_group fetched;
        coord_offsets_fetch(shard, event, &asked, i & 1, &arena, &fetched);
        struct join_group_request join;
        struct join_group_response joined;
        wire_init(&wire_join_group_request, &join);
        join.group_id = listed.groups[i].group_id;
        join.session_timeout_ms = 10000;
        join.rebalance_timeout_ms = 10000;
        join.member_id =
            described.members_count > 0 ? described.members[0].member_id : SLICE_LIT("");
        join.protocol_type = SLICE_LIT("consumer");
        join_group_request_protocols_new(&arena, &join, 1)->name = SLICE_LIT("range");
        struct coord_reply *reply = arena_alloc(&arena, sizeof *reply);
        *reply = (struct coord_reply){.arena = &arena, .response = &joined, .done = done};
        coord_groups_join(shard, event, &join, reply, update);
        coord_shard_tick(shard, event, update);
        coord_shard_unload(shard, update);
        coord_update_deliver(update);
        break;
    }
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct log log = {0};
    struct coord_config config;
    coord_config_init(&config);
    struct coord_writer writer = {&log, append};
    struct coord_shard *shard = coord_shard_new(COORD_GROUPS, &config, &writer, 0);
    struct buf bytes;
    buf_init(&bytes);
    if (data[0] & 1)
        put_records(&bytes, &log, data + 1, size - 1, data[0] & 2);
    else
        buf_put(&bytes, data + 1, size - 1);
    struct coord_event event = {.now_ms = 1000, .wall_ms = INT64_C(1) << 41, .version = 9};
    struct coord_update update;
    coord_update_init(&update);
    if (coord_shard_load(shard, buf_slice(&bytes)) == ERR_NONE) {
        if (log.offset_next == 0)
            log.offset_next = 1000;
        coord_shard_activate(shard, &event, log.offset_next, 0, &update);
        event.now_ms += 600000;
        coord_shard_tick(shard, &event, &update);
        coord_update_deliver(&update);
        use(shard, &event, &update);
    }
    coord_shard_unload(shard, &update);
    coord_update_deliver(&update);
    coord_shard_free(shard);
    buf_fini(&bytes);
    return 0;
}
