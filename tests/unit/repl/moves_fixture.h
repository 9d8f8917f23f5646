/* A partition that leads, over the first of two log folders. */
#ifndef KLAMM_TESTS_MOVES_FIXTURE_H
#define KLAMM_TESTS_MOVES_FIXTURE_H

#include "../store/dirs_fixture.h"

#include "repl/partition.h"

struct moves_fixture {
    struct dirs_fixture x;
    struct partition *partition;
    struct topic_config config;
};

/* `io`: of the folders; NULL: the fixture's. */
static inline void moves_start_on(struct moves_fixture *f, void **state, struct io *io)
{
    dirs_begin(&f->x, *state, 2);
    if (io)
        f->x.options.io = io;
    dirs_open(&f->x);
    struct log *log = dirs_create(&f->x, "t", 0);
    struct uuid id;
    assert_true(log_topic_id(log, &id));
    f->config = (struct topic_config){
        .flush_messages = INT64_MAX, .flush_ms = INT64_MAX, .min_insync_replicas = 1};
    f->partition = partition_new(f->x.f->io, SLICE_LIT("t"), &id, 0, log, &f->config);
    struct partition_state led = {
        .leader_id = 1, .leading = true, .leader_epoch = 3, .isr_count = 1, .replica_count = 1};
    assert_int_equal(partition_set_state(f->partition, &led), ERR_NONE);
}

static inline void moves_start(struct moves_fixture *f, void **state)
{
    moves_start_on(f, state, NULL);
}

static inline void moves_end(struct moves_fixture *f)
{
    partition_take_log(f->partition, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    partition_unref(f->partition);
    dirs_end(&f->x);
}

static inline enum err moves_append(struct moves_fixture *f, int32_t sequence, int count,
                                    size_t size)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = 77;
    options.producer_epoch = 0;
    options.base_sequence = sequence;
    struct partition_append append = {.origin = LOG_CLIENT,
                                      .batches = store_batch(f->x.f, &options, count, size, 1000)};
    return partition_append(f->partition, &append);
}

#endif
