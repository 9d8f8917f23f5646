/* quorum-state as JSON; see quorum_state.h. Kafka puts the schema's version beside the fields as
 * "data_version", last, which the converters of wire do not know. */
#include "raft/quorum_state.h"

#include "base/ensure.h"
#include "raft/voters.h"
#include "wire/json.h"
#include "wire_raft_records.h"

void raft_quorum_state_init(struct raft_quorum_state *state)
{
    *state = (struct raft_quorum_state){.leader_id = -1, .leader_epoch = 0, .voted_id = -1};
}

/* The number behind "data_version":, or -1. */
static int version_of(struct slice json)
{
    static const char key[] = "\"data_version\"";
    for (size_t at = 0; at + sizeof key <= json.size; at++) {
        if (memcmp(json.data + at, key, sizeof key - 1) != 0)
            continue;
        for (at += sizeof key - 1; at < json.size; at++) {
            uint8_t c = json.data[at];
            bool more = at + 1 < json.size && json.data[at + 1] >= '0' && json.data[at + 1] <= '9';
            if ((c == '0' || c == '1') && !more)
                return c - '0';
            if (c != ' ' && c != ':')
                return -1;
        }
    }
    return -1;
}

enum err raft_quorum_state_parse(struct slice json, struct arena *arena,
                                 struct raft_quorum_state *ret_state, struct slice *ret_text)
{
    int version = version_of(json);
    if (version < 0) {
        *ret_text = SLICE_LIT("data_version is missing or not supported");
        return ERR_MALFORMED;
    }
    struct quorum_state_data data;
    enum err e = wire_from_json(&wire_quorum_state_data, version, json, arena, &data, ret_text);
    if (e != ERR_NONE)
        return e;
    /* The next epoch is this one plus one. */
    if (data.leader_epoch < 0 || data.leader_epoch == INT32_MAX) {
        *ret_text = SLICE_LIT("leaderEpoch is out of range");
        return ERR_MALFORMED;
    }
    *ret_state = (struct raft_quorum_state){
        .leader_id = data.leader_id,
        .leader_epoch = data.leader_epoch,
        .voted_id = data.voted_id,
        .voted_directory = version > 0 ? data.voted_directory_id : UUID_ZERO,
    };
    return ERR_NONE;
}

void raft_quorum_state_format(const struct raft_quorum_state *state, int version,
                              const struct raft_voters *voters, struct buf *out)
{
    struct arena arena;
    arena_init(&arena);
    struct quorum_state_data data;
    wire_init(&wire_quorum_state_data, &data);
    data.leader_id = state->leader_id;
    data.leader_epoch = state->leader_epoch;
    data.voted_id = state->voted_id;
    if (version > 0) {
        data.voted_directory_id = state->voted_directory;
    } else {
        struct quorum_state_data_voter *list =
            quorum_state_data_current_voters_new(&arena, &data, voters->count);
        for (int32_t i = 0; i < voters->count; i++)
            list[i].voter_id = voters->voters[i].id;
    }
    enum err e = wire_to_json(&wire_quorum_state_data, version, &data, WIRE_JSON_RECORDS_SIZE, out);
    ENSURE_CMP(e, ==, ERR_NONE);
    ENSURE(out->size > 1 && out->data[out->size - 1] == '}');
    out->size--;
    buf_printf(out, ",\"data_version\":%d}", version);
    arena_fini(&arena);
}
