#include "store/cleaner_internal.h"

#include "cleaner_fixture.h"
#include "faulty_io.h"

enum { NOW = 1000000 };

/* An io that knows which descriptors are of transaction indexes, and what the thread holds when it
 * reads them. */
struct watching {
    struct faulty faulty; /* first */
    struct io_ops ops;
    bool is_index[1024];
    int reads, held;
};

static enum err watched_open(struct io *io, const char *path, unsigned flags, int *fd)
{
    struct watching *w = (struct watching *)(void *)io;
    enum err err = faulty_open(io, path, flags, fd);
    if (!err && *fd < 1024)
        w->is_index[*fd] = strstr(path, ".txnindex") != NULL;
    return err;
}

static enum err watched_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                              size_t *got)
{
    struct watching *w = (struct watching *)(void *)io;
    if (fd < 1024 && w->is_index[fd]) {
        w->reads++;
        w->held += lock_held_from(LOCK_CONTROLLER);
    }
    return faulty_pread(io, fd, data, size, offset, got);
}

/* `count` aborted transactions in each of some segments, and nothing in one. */
static struct log *fill(struct dirs_fixture *x, int segments, int count)
{
    struct log *log = dirs_create(x, "t", 0);
    for (int i = 0; i < segments; i++) {
        for (int j = 0; j < count; j++) {
            keyed_txn(log, "a=2", 1000);
            abort_txn(log);
        }
        assert_int_equal(log_roll(log), ERR_NONE);
    }
    keyed(log, "b=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    return log;
}

static void indexes_are_read_in_pieces_without_the_lock(void **state)
{
    enum { SEGMENTS = 3, COUNT = 150 };
    static struct watching w;
    w = (struct watching){0};
    struct store_fixture *f = *state;
    faulty_init(&w.faulty, f->io, 0, ERR_IO);
    w.ops = *w.faulty.io.ops;
    w.ops.open = watched_open;
    w.ops.pread = watched_pread;
    w.faulty.io.ops = &w.ops;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.io = &w.faulty.io;
    dirs_open(&x);
    struct log *log = fill(&x, SEGMENTS, COUNT);
    log_dirs_run_now(x.dirs, NOW); /* only what is flushed is cleaned */
    struct cleaner_config config;
    cleaner_config_init(&config);
    w.reads = 0;
    struct cleaner_round *round = cleaner_pick(x.dirs, &config, NOW);
    assert_non_null(round);
    assert_int_equal(w.reads, 0);
    int steps = 0;
    uint64_t bytes, sum = 0;
    while (round->stage == CLEANER_ABORTED) {
        assert_true(cleaner_round_step(round, 100, &bytes));
        assert_true(bytes <= 64 * TXN_INDEX_ENTRY_SIZE);
        sum += bytes;
        steps++;
    }
    assert_int_equal(sum, SEGMENTS * COUNT * TXN_INDEX_ENTRY_SIZE);
    assert_true(steps >= 3 * SEGMENTS);
    assert_true(w.reads >= 3 * SEGMENTS);
    assert_int_equal(w.held, 0);
    assert_int_equal(round->txns.aborted_count, SEGMENTS * COUNT);
    while (cleaner_round_step(round, 1 << 20, &bytes))
        ;
    assert_true(cleaner_round_free(round));
    char *text = log_text(log);
    assert_null(strstr(text, "a=2"));
    assert_non_null(strstr(text, "b=1"));
    mem_free(text);
    dirs_end(&x);
}

/* The second piece is damaged: the whole of it is read again, and counts once. */
static void damage_in_the_middle(void **state)
{
    enum { COUNT = 100 };
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = fill(&x, 1, COUNT);
    log_dirs_run_now(x.dirs, NOW);
    char path[200];
    snprintf(path, sizeof path, "%s/t-0/00000000000000000000.txnindex", x.paths[0]);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_WRITE, &fd), ERR_NONE);
    assert_int_equal(
        io_pwrite(f->io, fd,
                  "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377", 18,
                  80 * TXN_INDEX_ENTRY_SIZE + 2),
        ERR_NONE);
    io_close(f->io, fd);
    assert_int_equal(clean(&x, NOW), 1);
    assert_false(log->uncleanable);
    char *text = log_text(log);
    assert_null(strstr(text, "a=2"));
    assert_non_null(strstr(text, "b=1"));
    mem_free(text);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(indexes_are_read_in_pieces_without_the_lock),
        STORE_TEST(damage_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
