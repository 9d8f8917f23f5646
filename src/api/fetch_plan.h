/* What one fetch request reads: its partitions, out of a session or its own, and which answers it
 * must send. For fetch.c; loop thread. */
#ifndef KLAMM_API_FETCH_PLAN_H
#define KLAMM_API_FETCH_PLAN_H

#include "api/fetch_session.h"
#include "store/log.h"

struct fetch_request;
struct request;

/* The outcome of reading one partition. */
struct fetch_result {
    enum err err;
    bool is_unknown; /* no such topic or partition: refused before any read */
    struct partition_read read;
};

struct fetch_plan {
    struct fetch_session *session; /* NULL: none, or a full fetch whose session is yet to come */
    bool incremental;              /* answer only what has news */
    bool wants_session;            /* full fetch: keep its partitions when answering */
    struct list own;               /* partitions of a fetch without session, in the arena */
    struct list *partitions;       /* the list to walk */
    int32_t count;
};

/* Fills the plan. An error is for the whole request; the plan then holds nothing. ERR_AGAIN: the
 * session is in use, `waiter` will be told. */
enum err fetch_plan_begin(struct request *request, struct fetch_session_waiter *waiter,
                          struct fetch_plan *ret_plan);
/* Full fetch: makes the session, with what the answers told. Returns its id; 0 = no session. */
int32_t fetch_plan_keep(struct request *request, struct fetch_plan *plan);
/* True when the partition's answer must be sent; notes what it tells. */
bool fetch_plan_has_news(const struct fetch_plan *plan, struct fetch_partition *partition);
/* Gives everything back. */
void fetch_plan_end(struct request *request, struct fetch_plan *plan);

#endif
