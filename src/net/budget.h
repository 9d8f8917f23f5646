/* Memory of all frames that are being read or handled (queued.max.request.bytes), shared by all
 * loops. Frames up to a small size may also use a reserve of 1/8 on top.
 *
 * Partly read frames could hold all of it while none gets complete. So when no complete frame is
 * held by anybody, one connection at a time may go beyond the limit (the *exempt* one), as Kafka's
 * pool hands out memory while any is left: memory is bounded by the limit plus one request.
 *
 * What requests and answers take besides their frames is *extra*: it is there already when it is
 * counted, so it is never refused, and keeps further frames out. Nobody is exempt while it is most
 * of the budget, for it is given back without help. Small frames, heartbeats among them, get past
 * it until twice the limit is used. */
#ifndef KLAMM_NET_BUDGET_H
#define KLAMM_NET_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
    _Atomic(int64_t) used;
    _Atomic(int64_t) extra;   /* the part of `used` that is no frames */
    _Atomic(int64_t) held;    /* complete frames that are not freed yet */
    _Atomic(int64_t) limit;   /* <= 0: none */
    _Atomic(int64_t) waiters; /* connections that wait; somebody must wake them on release */
    _Atomic(const void *) exempt;
};

void budget_init(struct budget *budget, int64_t limit);
/* Takes `size` bytes; false when they do not fit. `who` names the connection. Any thread. */
bool budget_take(struct budget *budget, size_t size, bool small, const void *who);
/* Whether taking could fail soon: then read a frame's size before its bytes. */
bool budget_is_tight(const struct budget *budget);
/* True when somebody waits, who then must be woken. */
bool budget_release(struct budget *budget, size_t size);
void budget_extra_take(struct budget *budget, size_t size);
bool budget_extra_release(struct budget *budget, size_t size);     /* as budget_release */
bool budget_end_exemption(struct budget *budget, const void *who); /* the same */
void budget_frame_held(struct budget *budget);
void budget_frame_freed(struct budget *budget);

#endif
