/* Inside coord only: one transactional id and what its newest record says. */
#ifndef KLAMM_COORD_TXN_H
#define KLAMM_COORD_TXN_H

#include "base/err.h"
#include "base/list.h"
#include "coord/partition_set.h"

/* Kafka's numbers. Dead and PrepareEpochFence are steps of a decision in Kafka, never written. */
enum txn_status {
    TXN_EMPTY = 0,
    TXN_ONGOING = 1,
    TXN_PREPARE_COMMIT = 2,
    TXN_PREPARE_ABORT = 3,
    TXN_COMPLETE_COMMIT = 4,
    TXN_COMPLETE_ABORT = 5,
    TXN_DEAD = 6,
    TXN_PREPARE_EPOCH_FENCE = 7,
};
enum { TXN_STATUS_COUNT = 8 };

enum {
    TXN_NO_EPOCH = -1,
    TXN_EPOCH_MAX = INT16_MAX,           /* fences, is never a client's */
    TXN_EPOCH_EXHAUSTED = INT16_MAX - 1, /* the last that a client may have */
    TXN_TIMEOUT_NONE_MS = INT32_MAX,     /* of a two-phase commit: never aborted by time */
    TXN_VERSION_EPOCH_BUMP = 2,          /* transaction.version: each transaction has an epoch */
};
#define TXN_NO_PRODUCER_ID INT64_C(-1)

/* The content of a record. One allocation beside its partitions; never changed once it is a txn's,
 * but for the partitions of a Prepare, which go as their markers are written. */
struct txn_view {
    enum txn_status status;
    int64_t producer_id;
    int64_t producer_id_before; /* that of the record before; -1 = unknown */
    int64_t producer_id_next;   /* to follow when a Prepare with an exhausted epoch completes */
    int16_t epoch;
    int16_t epoch_last; /* of the producer before its last bump; not in records: -1 after loading,
                           but for an end that gave a new producer id */
    int16_t epoch_next; /* carried along: an identity beside that of a prepared transaction */
    int32_t timeout_ms;
    int64_t start_ms; /* -1 = none */
    int64_t update_ms;
    int16_t client_version; /* transaction.version of the client that made the transition: 0, 2 */
    struct partition_set partitions;
};

struct txn {
    struct slice id;
    struct txn_view *view;    /* by its newest committed record; NULL = none yet */
    struct txn_view *next;    /* by its appended record, not committed yet; NULL = none */
    bool removing;            /* the appended record is a tombstone */
    int64_t offset_next;      /* after that record */
    struct list pending_link; /* in the shard's `pending` while a record is not committed */
    struct list retry_link;   /* in the shard's `retries` while a Complete could not be written */
};

const char *txn_status_name(enum txn_status status);
/* -1 when there is none of that name. */
int txn_status_of(struct slice name);

struct txn *txn_new(struct slice id);
void txn_free(struct txn *txn);

struct txn_view *txn_view_new(void);       /* Empty, all ids and epochs none */
void txn_view_free(struct txn_view *view); /* accepts NULL */

/* A record of it is appended and not committed: no other may follow yet. */
static inline bool txn_is_pending(const struct txn *txn)
{
    return txn->next || txn->removing;
}

static inline bool txn_is_prepared(const struct txn_view *view)
{
    return view->status == TXN_PREPARE_COMMIT || view->status == TXN_PREPARE_ABORT;
}

/* Between two states: a record is not committed, or markers are not written. Clients are told to
 * come again (CONCURRENT_TRANSACTIONS), whoever they say they are. */
static inline bool txn_is_busy(const struct txn *txn)
{
    return txn_is_pending(txn) || txn_is_prepared(txn->view);
}

static inline bool txn_is_idle(const struct txn_view *view)
{
    return view->status == TXN_EMPTY || view->status == TXN_COMPLETE_COMMIT ||
           view->status == TXN_COMPLETE_ABORT;
}

static inline bool txn_epoch_exhausted(int16_t epoch)
{
    return epoch >= TXN_EPOCH_EXHAUSTED;
}

/* The producer that the id had until its newest record gave it another producer id: it has not
 * heard of that yet. */
static inline bool txn_came_from(const struct txn_view *view, int64_t producer_id, int16_t epoch)
{
    return producer_id == view->producer_id_before && producer_id != view->producer_id &&
           epoch == view->epoch_last && epoch != TXN_NO_EPOCH;
}

/* ---- transitions: what the next record says ----------------------------------------------- */

/* The first record of an id. */
struct txn_view *txn_begin(int64_t producer_id, int32_t timeout_ms, int64_t now_ms);

/* InitProducerId on an idle one, the epoch not exhausted. `expected` is the epoch that the producer
 * says it has, TXN_NO_EPOCH = none given. PRODUCER_FENCED when it is neither the current nor, as a
 * repetition, the last one. */
enum err txn_bump(const struct txn_view *view, int16_t expected, int32_t timeout_ms, int64_t now_ms,
                  struct txn_view **ret_next);

/* The same of a producer that has not heard of its new producer id: the answer that it had missed.
 */
struct txn_view *txn_repeat(const struct txn_view *view, int32_t timeout_ms, int64_t now_ms);

/* InitProducerId on an idle one whose producer id is spent: a new producer id. `epoch_last` is the
 * epoch that the producer says it has, under the id before. */
struct txn_view *txn_rotate(const struct txn_view *view, int64_t producer_id, int16_t epoch_last,
                            int32_t timeout_ms, int64_t now_ms);

/* Partitions join; the caller adds them to (*ret)->partitions. */
struct txn_view *txn_extend(const struct txn_view *view, int16_t client_version, int64_t now_ms);

/* EndTxn: commit or abort. With client_version 2 the epoch goes up; producer_id_next, -1 = none, is
 * the one to go on with after an exhausted one. */
struct txn_view *txn_prepare(const struct txn_view *view, bool commit, int16_t client_version,
                             int64_t producer_id_next, int64_t now_ms);

/* The coordinator aborts an Ongoing one by itself and fences its producer, by the next epoch or,
 * when the producer id is spent, by the one above all that may have been given out.
 * producer_id_next as in txn_prepare. */
struct txn_view *txn_fence(const struct txn_view *view, int16_t transaction_version, bool spent,
                           int64_t producer_id_next, int64_t now_ms);

/* All markers of a Prepare are written. */
struct txn_view *txn_complete(const struct txn_view *view, int64_t now_ms);

#endif
