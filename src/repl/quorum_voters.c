/* Who votes: from the configuration (kraft.version 0) or from the log (kraft.version 1, KIP-853),
 * and the step from the one to the other; see quorum_internal.h.
 *
 * What the log says of this node is its directory id and the controller listeners that it
 * advertises, whatever name the configuration has for it. Records that say so are written by the
 * step to kraft.version 1, and by an election when the log has others: from the bootstrap snapshot,
 * or of a node that listened elsewhere. From the step on the configuration's voters count for
 * nothing; quorum-state, which lists static voters, is written anew by the next election. */
#include "conf/config.h"
#include "record/control.h"
#include "repl/quorum_internal.h"
#include "wire_raft_records.h"

void quorum_static_voters(struct quorum *q)
{
    int32_t count;
    const struct config_voter *list = config_quorum_voters(q->config, &count);
    struct conf_list names = config_list(q->config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    for (int32_t i = 0; i < count; i++) {
        struct raft_endpoint endpoint = {names.count > 0 ? names.items[0] : SLICE_LIT(""),
                                         list[i].host, list[i].port};
        raft_voters_add_static(&q->voters, list[i].id, endpoint);
    }
}

enum err quorum_add_voters(const struct raft_voters *voters, struct builder *b, int64_t now_ms)
{
    struct arena arena;
    arena_init(&arena);
    struct kraft_version_record version;
    wire_init(&wire_kraft_version_record, &version);
    version.kraft_version = 1;
    struct voters_record record;
    raft_voters_to_record(voters, &arena, &record);
    enum err e = control_append(b, now_ms, CONTROL_KRAFT_VERSION, &version);
    if (e == ERR_NONE)
        e = control_append(b, now_ms, CONTROL_KRAFT_VOTERS, &record);
    arena_fini(&arena);
    return e;
}

void quorum_set_own(struct quorum *q, const struct controller_registration *self)
{
    struct arena arena;
    arena_init(&arena);
    int32_t count = self->controller_endpoint_count;
    struct raft_endpoint *endpoints = arena_array(&arena, (size_t)count, sizeof *endpoints);
    for (int32_t i = 0; i < count; i++) {
        const struct meta_endpoint *from = &self->controller_endpoints[i];
        endpoints[i] = (struct raft_endpoint){from->name, from->host, from->port};
    }
    raft_voters_set_one(&q->own, q->raft.id, q->raft.directory_id, endpoints, count);
    arena_fini(&arena);
}

bool quorum_voters_stale(const struct quorum *q)
{
    return q->settings.kraft_dynamic && (!q->voters_in_log || !raft_voters_eq(&q->voters, &q->own));
}

enum err quorum_build_upgrade(const struct quorum *q, int64_t now_ms, struct buf *out)
{
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.control = true;
    options.leader_epoch = q->raft.state.leader_epoch;
    builder_begin(&b, out, &options);
    enum err e = quorum_add_voters(&q->own, &b, now_ms);
    enum err end = builder_end(&b);
    return e != ERR_NONE ? e : end;
}

void quorum_voters_written(struct quorum *q)
{
    const struct raft_voter *own = &q->own.voters[0];
    raft_voters_set_one(&q->voters, own->id, own->directory_id, own->endpoints,
                        own->endpoint_count);
    q->settings.kraft_dynamic = q->voters_in_log = true;
    lock_take(&q->image_lock);
    q->kraft_version = 1;
    lock_release(&q->image_lock);
}
