/* Control records: transaction markers and what KRaft writes about itself (leader changes, snapshot
 * headers and footers, kraft.version, voters). Builders append one sealed control batch to a
 * caller's buf; parsers read one record that records_iter_next returned from a control batch.
 *
 * Pure; any thread. */
#ifndef KLAMM_RECORD_CONTROL_H
#define KLAMM_RECORD_CONTROL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "record/builder.h"
#include "record/records.h"

struct leader_change_message;
struct snapshot_header_record;
struct snapshot_footer_record;
struct kraft_version_record;
struct voters_record;

enum control_type {
    CONTROL_UNKNOWN = -1, /* of a later version: to be skipped */
    CONTROL_ABORT = 0,
    CONTROL_COMMIT = 1,
    CONTROL_LEADER_CHANGE = 2,
    CONTROL_SNAPSHOT_HEADER = 3,
    CONTROL_SNAPSHOT_FOOTER = 4,
    CONTROL_KRAFT_VERSION = 5,
    CONTROL_KRAFT_VOTERS = 6,
};

/* The type of a control record by its key. ERR_INVALID_RECORD: key null or too short, or of a
 * negative version. */
enum err control_parse_type(const struct record *record, enum control_type *ret_type);

/* ---- transaction markers ----------------------------------------------------------------- */

struct control_end_txn {
    bool is_commit;
    int32_t coordinator_epoch;
};

/* ERR_INVALID_RECORD: no marker, or its value is too short. */
enum err control_parse_end_txn(const struct record *record, struct control_end_txn *ret_marker);

/* A marker batch: transactional, control, base sequence -1. `out` as in builder_begin. */
enum err control_build_end_txn(struct buf *out, int64_t base_offset, int32_t leader_epoch,
                               int64_t timestamp, int64_t producer_id, int16_t producer_epoch,
                               const struct control_end_txn *marker);

/* ---- KRaft ------------------------------------------------------------------------------- */

/* What a node reads of them; ret_* are structs of wire_messages.h, with views into the record and
 * arrays in the arena. ERR_INVALID_RECORD: another type, or broken. */
enum err control_parse_kraft_version(const struct record *record, struct arena *arena,
                                     struct kraft_version_record *ret_version);
enum err control_parse_voters(const struct record *record, struct arena *arena,
                              struct voters_record *ret_voters);

/* Appends one KRaft control record to a control batch under construction (a builder with
 * options.control); a snapshot's first batch holds several. `message` is the struct of the type as
 * in the parsers. ERR_ARGUMENT: not a KRaft type; ERR_TOO_LARGE as builder_end. The record is
 * encoded at the version that Kafka 4.4 writes, 0. */
enum err control_append(struct builder *b, int64_t timestamp, enum control_type type,
                        const void *message);

/* A control batch with just this record. */
enum err control_build(struct buf *out, int64_t base_offset, int32_t leader_epoch,
                       int64_t timestamp, enum control_type type, const void *message);

#endif
