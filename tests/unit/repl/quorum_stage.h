/* A quorum over real files in a temporary folder, and operations that a test waits for. */
#ifndef KLAMM_TESTS_REPL_QUORUM_STAGE_H
#define KLAMM_TESTS_REPL_QUORUM_STAGE_H

#include "../config_text.h"
#include "../temp_dir.h"

#include "base/mem.h"
#include "meta/image.h"
#include "os/io_linux.h"
#include "repl/quorum.h"

#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

/* A quorum over real files in a temporary folder, with its loop. */
struct stage {
    struct io *io;
    struct loop *loop;
    struct config *config;
    char dir[TEMP_DIR_SIZE];
    struct uuid dir_id;
    struct quorum *quorum;
    struct quorum_subscriber subscriber;
    struct controller_registration self;
    struct meta_endpoint broker, controller;
    struct uuid incarnation;
    int published;
    _Atomic int failures; /* told by the quorum */
    int64_t topics_published;
};

static inline void published(void *context, const struct meta_image *old,
                             const struct meta_image *new)
{
    struct stage *s = context;
    assert_ptr_not_equal(old, new);
    s->published++;
    s->topics_published = (int64_t)meta_image_topic_count(new);
}

static inline void failed(void *context)
{
    ((struct stage *)context)->failures++;
}

static inline struct config *make_config(const char *dir, const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text,
             "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
             "listeners=PLAINTEXT://127.0.0.1:40910,CONTROLLER://127.0.0.1:40911\n"
             "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
             "log.dirs=%s\n%s",
             dir, extra);
    return config_of(text);
}

static inline void stage_init(struct stage *s, const char *extra)
{
    memset(s, 0, sizeof *s);
    s->io = io_linux_new();
    s->loop = loop_start(s->io, "quorum");
    temp_dir_make(s->dir, "/tmp");
    s->config = make_config(s->dir, extra);
    s->dir_id = (struct uuid){{1, 2, 3}};
    s->subscriber = (struct quorum_subscriber){published, s};
    s->incarnation = (struct uuid){{9}};
    s->broker = (struct meta_endpoint){SLICE_LIT("PLAINTEXT"), SLICE_LIT("127.0.0.1"), 40910, 0};
    s->controller =
        (struct meta_endpoint){SLICE_LIT("CONTROLLER"), SLICE_LIT("127.0.0.1"), 40911, 0};
    s->self = (struct controller_registration){.node_id = 1,
                                               .incarnation = s->incarnation,
                                               .broker_endpoints = &s->broker,
                                               .broker_endpoint_count = 1,
                                               .controller_endpoints = &s->controller,
                                               .controller_endpoint_count = 1,
                                               .dirs = &s->dir_id,
                                               .dir_count = 1,
                                               .previous_epoch = -1};
}

static inline enum err stage_open(struct stage *s, char **ret_text)
{
    struct quorum_options options = {.io = s->io,
                                     .loop = s->loop,
                                     .config = s->config,
                                     .cluster_id = SLICE_LIT("c"),
                                     .directory_id = s->dir_id,
                                     .log_dir = slice_str(s->dir),
                                     .subscriber = s->subscriber,
                                     .failed = failed,
                                     .failed_context = s};
    return quorum_open(&options, &s->quorum, ret_text);
}

static inline void stage_start(struct stage *s)
{
    char *text = NULL;
    enum err e = stage_open(s, &text);
    if (e == ERR_NONE)
        e = quorum_start(s->quorum, &s->self, &text);
    if (e != ERR_NONE)
        print_message("%s: %s\n", err_name(e), text);
    assert_int_equal(e, ERR_NONE);
}

/* Closes once nothing is on a worker any more, as a server does before it stops the loop. */
static inline void stage_close(struct stage *s)
{
    while (!quorum_idle(s->quorum))
        usleep(1000);
    quorum_close(s->quorum);
}

static inline void stage_fini(struct stage *s)
{
    loop_stop(s->loop);
    io_linux_free(s->io);
    config_unref(s->config);
    temp_dir_remove(s->dir);
}

/* An operation that the test waits for. */
struct op {
    struct quorum_op op;
    const char *name;
    struct slice seen;
    sem_t done;
    enum err result;
};

static inline void decide_topic(struct quorum_op *op, struct controller *c)
{
    struct op *o = (struct op *)op;
    struct slice text;
    o->result = controller_auto_create_topic(c, slice_str(o->name), &text);
}

static inline void decide_nothing(struct quorum_op *op, struct controller *c)
{
    (void)c;
    ((struct op *)op)->result = ERR_NONE;
}

static inline void op_done(struct quorum_op *op)
{
    sem_post(&((struct op *)op)->done);
}

static inline void op_init(struct stage *s, struct op *o, struct arena *arena)
{
    sem_init(&o->done, 0, 0);
    arena_init(arena);
    o->op.done = op_done;
    o->op.loop = s->loop;
    o->op.arena = arena;
}

static inline void submit(struct stage *s, struct op *o, struct arena *arena,
                          void (*decide)(struct quorum_op *, struct controller *))
{
    op_init(s, o, arena);
    o->op.decide = decide;
    quorum_submit(s->quorum, &o->op);
}

/* The error of an operation, once it is done. */
static inline enum err await(struct op *o)
{
    sem_wait(&o->done);
    sem_destroy(&o->done);
    arena_fini(o->op.arena);
    return o->op.error;
}

static inline enum err shut_down(struct stage *s)
{
    struct arena arena;
    struct op o = {0};
    op_init(s, &o, &arena);
    quorum_shutdown(s->quorum, &o.op);
    return await(&o);
}

/* Submits one operation and waits for it: its error. */
static inline enum err run(struct stage *s, const char *name,
                           void (*decide)(struct quorum_op *, struct controller *))
{
    struct arena arena;
    struct op o = {.name = name};
    submit(s, &o, &arena, decide);
    enum err e = await(&o);
    return e ? e : o.result;
}

static inline void create(struct stage *s, const char *name)
{
    assert_int_equal(run(s, name, decide_topic), ERR_NONE);
    struct meta_image *image = quorum_image(s->quorum);
    assert_non_null(meta_image_topic(image, slice_str(name)));
    assert_int_equal(s->topics_published, meta_image_topic_count(image));
    meta_image_unref(image);
}

static const char *const static_voters = "controller.quorum.voters=1@127.0.0.1:40911\n";

#endif
