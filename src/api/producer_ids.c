/* One block at a time: [next, end). When it is used up, calls wait in a list while one quorum
 * operation fetches the next block; its end serves them all. The lock is a leaf: quorum_submit is
 * called without it. */
#include "api/producer_ids.h"

#include "base/mem.h"
#include "os/lock.h"
#include "repl/quorum.h"

struct producer_ids {
    struct quorum *quorum;
    int32_t broker_id;
    struct lock lock;
    int64_t next, end;
    bool fetching;
    struct list waiting;
    /* the operation under way */
    struct quorum_op op;
    struct arena arena;
    int64_t broker_epoch;
    enum err decided;
    int64_t block_first;
    int32_t block_count;
};

static void decide(struct quorum_op *op, struct controller *controller)
{
    struct producer_ids *ids = LIST_ITEM(op, struct producer_ids, op);
    ids->decided = controller_allocate_producer_ids(controller, ids->broker_id, ids->broker_epoch,
                                                    &ids->block_first, &ids->block_count);
}

static void fetch_block(struct producer_ids *ids)
{
    arena_fini(&ids->arena);
    ids->decided = ERR_NONE;
    ids->broker_epoch = quorum_broker_epoch(ids->quorum);
    quorum_submit(ids->quorum, &ids->op);
}

/* Lock held: serves from the block what it can, into `served`. */
static void serve(struct producer_ids *ids, struct list *served)
{
    while (ids->next < ids->end && !list_empty(&ids->waiting)) {
        struct list *node = list_pop_front(&ids->waiting);
        struct producer_id_call *call = LIST_ITEM(node, struct producer_id_call, link);
        call->error = ERR_NONE;
        call->producer_id = ids->next++;
        list_push_back(served, node);
    }
}

static void finish_calls(struct list *served)
{
    for (struct list *node = list_pop_front(served); node; node = list_pop_front(served)) {
        struct producer_id_call *call = LIST_ITEM(node, struct producer_id_call, link);
        call->done(call);
    }
}

static void block_done(struct quorum_op *op)
{
    struct producer_ids *ids = LIST_ITEM(op, struct producer_ids, op);
    enum err err = op->error ? op->error : ids->decided;
    struct list served;
    list_init(&served);
    lock_take(&ids->lock);
    ids->fetching = false;
    if (!err) {
        ids->next = ids->block_first;
        ids->end = ids->block_first + ids->block_count;
        serve(ids, &served);
    } else {
        LIST_FOREACH(node, &ids->waiting)
        LIST_ITEM(node, struct producer_id_call, link)->error = ERR_COORDINATOR_NOT_AVAILABLE;
        list_move_all(&served, &ids->waiting);
    }
    bool more = !list_empty(&ids->waiting);
    ids->fetching = more;
    lock_release(&ids->lock);
    if (more)
        fetch_block(ids);
    finish_calls(&served);
}

struct producer_ids *producer_ids_new(struct quorum *quorum, int32_t broker_id, struct loop *loop)
{
    struct producer_ids *ids = mem_zalloc(sizeof *ids);
    ids->quorum = quorum;
    ids->broker_id = broker_id;
    lock_init(&ids->lock, LOCK_LEAF);
    list_init(&ids->waiting);
    arena_init(&ids->arena);
    ids->op = (struct quorum_op){
        .decide = decide, .done = block_done, .loop = loop, .arena = &ids->arena};
    return ids;
}

void producer_ids_free(struct producer_ids *ids)
{
    if (!ids)
        return;
    arena_fini(&ids->arena);
    lock_fini(&ids->lock);
    mem_free(ids);
}

void producer_ids_next(struct producer_ids *ids, struct producer_id_call *call)
{
    struct list served;
    list_init(&served);
    lock_take(&ids->lock);
    list_init(&call->link);
    list_push_back(&ids->waiting, &call->link);
    serve(ids, &served);
    bool fetch = !list_empty(&ids->waiting) && !ids->fetching;
    if (fetch)
        ids->fetching = true;
    lock_release(&ids->lock);
    if (fetch)
        fetch_block(ids);
    finish_calls(&served);
}
