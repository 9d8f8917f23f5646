#include "sim_io.h"

#include "base/mem.h"

#include <string.h>

#include "../unit/unit.h"

/* ---- disk -------------------------------------------------------------------------------------
 */

static int put_file(struct io *io, const char *path, const char *text)
{
    int fd;
    assert_int_equal(io_open(io, path, IO_READ | IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(io, fd, text, strlen(text), 0), ERR_NONE);
    return fd;
}

/* The content as text, "-" when there is no such file. */
static const char *content(struct io *io, const char *path)
{
    static char text[128];
    int fd;
    if (io_open(io, path, IO_READ, &fd))
        return "-";
    size_t size;
    assert_int_equal(io_pread(io, fd, text, sizeof text - 1, 0, &size), ERR_NONE);
    text[size] = '\0';
    io_close(io, fd);
    return text;
}

static void files_and_names(void **state)
{
    (void)state;
    struct sim *sim = sim_new(1);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    assert_int_equal(io_mkdir(io, "/d"), ERR_NONE);
    assert_int_equal(io_mkdir(io, "/d"), ERR_EXISTS);
    assert_int_equal(io_mkdir(io, "/x/y"), ERR_NOT_FOUND);
    int fd = put_file(io, "/d/b", "hello");
    io_close(io, put_file(io, "/d/a", "one"));
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(io, "/d/", &names, &count), ERR_NONE);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "a");
    io_free_names(names, count);
    assert_int_equal(io_rmdir(io, "/d"), ERR_EXISTS);
    assert_int_equal(io_rename(io, "/d/b", "/d/a"), ERR_NONE);
    assert_string_equal(content(io, "/d/a"), "hello");
    assert_int_equal(io_unlink(io, "/d/a"), ERR_NONE);
    char byte;
    size_t size;
    assert_int_equal(io_pread(io, fd, &byte, 1, 4, &size), ERR_NONE); /* open, without a name */
    assert_int_equal(byte, 'o');
    assert_int_equal(io_open(io, "/d/a", IO_READ, &fd), ERR_NOT_FOUND);
    assert_string_equal(io_error_text(io, ERR_NOT_FOUND), "No such file or directory");
    int lock, other;
    assert_int_equal(io_lock_file(io, "/.lock", &lock), ERR_NONE);
    assert_int_equal(io_lock_file(io, "/.lock", &other), ERR_BUSY);
    sim_machine_kill(m);
    io = sim_machine_start(m);
    assert_int_equal(io_lock_file(io, "/.lock", &lock), ERR_NONE);
    sim_free(sim);
}

static void a_kill_keeps_everything(void **state)
{
    (void)state;
    struct sim *sim = sim_new(2);
    struct sim_machine *m = sim_machine_new(sim, "a");
    put_file(sim_machine_start(m), "/f", "unsynced");
    sim_machine_kill(m);
    assert_false(sim_machine_is_on(m));
    assert_string_equal(content(sim_machine_start(m), "/f"), "unsynced");
    sim_free(sim);
}

/* Over many seeds: what is synced survives each power cut, what is not is lost in some and kept in
 * others, and a rename shows one of its two states. */
static void a_power_cut_loses_what_is_not_synced(void **state)
{
    (void)state;
    int gone = 0, kept = 0, changed = 0, renamed = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sim *sim = sim_new(seed);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct io *io = sim_machine_start(m);
        int fd = put_file(io, "/safe", "old");
        assert_int_equal(io_fsync(io, fd), ERR_NONE);
        fd = put_file(io, "/r1", "target");
        assert_int_equal(io_fsync(io, fd), ERR_NONE);
        assert_int_equal(io_sync_dir(io, "/"), ERR_NONE);
        fd = put_file(io, "/r2", "source");
        assert_int_equal(io_fsync(io, fd), ERR_NONE);
        assert_int_equal(io_rename(io, "/r2", "/r1"), ERR_NONE);
        put_file(io, "/safe", "new");
        io_fsync(io, put_file(io, "/late", "late"));
        sim_machine_power_cut(m);
        io = sim_machine_start(m);
        const char *safe = content(io, "/safe");
        assert_true(strcmp(safe, "old") == 0 || strcmp(safe, "new") == 0);
        changed += strcmp(safe, "new") == 0;
        const char *late = content(io, "/late");
        assert_true(strcmp(late, "-") == 0 || strcmp(late, "late") == 0);
        gone += strcmp(late, "-") == 0;
        kept += strcmp(late, "late") == 0;
        const char *r1 = content(io, "/r1");
        assert_true(strcmp(r1, "target") == 0 || strcmp(r1, "source") == 0);
        renamed += strcmp(r1, "source") == 0;
        sim_free(sim);
    }
    assert_true(gone > 20 && kept > 20 && changed > 20 && changed < 180);
    assert_true(renamed > 20 && renamed < 180);
}

static void a_power_cut_tears_pages_by_sectors(void **state)
{
    (void)state;
    int mixed = 0, partial = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct sim *sim = sim_new(seed);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct io *io = sim_machine_start(m);
        uint8_t block[8192];
        memset(block, 'A', sizeof block);
        int fd = put_file(io, "/f", "");
        io_pwrite(io, fd, block, 4096, 0);
        io_fsync(io, fd);
        io_sync_dir(io, "/");
        memset(block, 'B', sizeof block);
        io_pwrite(io, fd, block, 8192, 0);
        sim_machine_power_cut(m);
        io = sim_machine_start(m);
        size_t size;
        assert_int_equal(io_open(io, "/f", IO_READ, &fd), ERR_NONE);
        assert_int_equal(io_pread(io, fd, block, sizeof block, 0, &size), ERR_NONE);
        assert_in_range(size, 4096, 8192);
        partial += size > 4096 && size < 8192;
        int old = 0, new = 0;
        for (size_t at = 0; at < 4096; at += 512) {
            for (size_t i = 1; i < 512; i++)
                assert_int_equal(block[at + i], block[at]);
            old += block[at] == 'A';
            new += block[at] == 'B';
        }
        assert_int_equal(old + new, 8);
        mixed += old > 0 && new > 0;
        sim_free(sim);
    }
    assert_true(mixed > 5 && partial > 5);
}

/* After a failed fsync the next one succeeds and saves nothing, as on Linux. */
static void a_failed_fsync_loses_silently(void **state)
{
    (void)state;
    struct sim *sim = sim_new(4);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    int fd = put_file(io, "/f", "old");
    io_fsync(io, fd);
    io_sync_dir(io, "/");
    io_pwrite(io, fd, "new", 3, 0);
    sim_fault_add(m, &(struct sim_fault){.op = SIM_FSYNC, .count = 1, .error = ERR_IO});
    assert_int_equal(io_fdatasync(io, fd), ERR_IO);
    assert_int_equal(io_fdatasync(io, fd), ERR_NONE);
    sim_machine_power_cut(m);
    assert_string_equal(content(sim_machine_start(m), "/f"), "old");
    assert_int_equal(sim_counters(m).faults, 1);
    sim_free(sim);
}

static void a_lying_disk_keeps_what_it_is_asked_again(void **state)
{
    (void)state;
    int lost = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct sim *sim = sim_new(seed);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct io *io = sim_machine_start(m);
        int fd = put_file(io, "/f", "old");
        sim_disk_set_lying(m, true);
        assert_int_equal(io_fsync(io, fd), ERR_NONE);
        assert_int_equal(io_sync_dir(io, "/"), ERR_NONE);
        sim_disk_set_lying(m, false);
        if (seed % 2) {
            assert_int_equal(io_fsync(io, fd), ERR_NONE);
            assert_int_equal(io_sync_dir(io, "/"), ERR_NONE);
        }
        sim_machine_power_cut(m);
        const char *after = content(sim_machine_start(m), "/f");
        if (seed % 2)
            assert_string_equal(after, "old");
        else
            lost += strcmp(after, "old") != 0;
        assert_int_equal(sim_counters(m).lies, 2);
        sim_free(sim);
    }
    assert_true(lost > 5);
}

struct slow_job {
    struct io_job job;
    struct sim *sim;
    int64_t ran_ns, done_ns;
};

static void slow_run(struct io_job *job)
{
    struct slow_job *s = LIST_ITEM(job, struct slow_job, job);
    s->ran_ns = sim_now_ns(s->sim);
}

static void slow_done(struct io_job *job)
{
    struct slow_job *s = LIST_ITEM(job, struct slow_job, job);
    s->done_ns = sim_now_ns(s->sim);
}

/* On a slow disk a job's effect and its end lie apart; the jobs of a lane still do not overlap. */
static void a_slow_disk_ends_jobs_late(void **state)
{
    (void)state;
    int late = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sim *sim = sim_new(seed);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct io *io = sim_machine_start(m);
        struct loop *loop = loop_start(io, "l");
        struct io_lane lane = {0};
        struct slow_job jobs[4];
        sim_disk_set_slow(m, 3000);
        for (int i = 0; i < 4; i++) {
            jobs[i] = (struct slow_job){
                .job = {.run = slow_run, .done = slow_done, .loop = loop, .lane = &lane},
                .sim = sim};
            io_submit(io, &jobs[i].job);
        }
        assert_true(sim_run_idle(sim, 1000));
        for (int i = 0; i < 4; i++) {
            assert_true(jobs[i].done_ns >= jobs[i].ran_ns && jobs[i].ran_ns > 0);
            late += jobs[i].done_ns - jobs[i].ran_ns > 100000000;
            assert_true(i == 0 || jobs[i].ran_ns > jobs[i - 1].ran_ns);
        }
        loop_stop(loop);
        sim_free(sim);
    }
    assert_true(late > 20);
}

static void faults_by_path_and_number(void **state)
{
    (void)state;
    struct sim *sim = sim_new(5);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    sim_fault_add(m, &(struct sim_fault){.op = SIM_WRITE,
                                         .path_part = "log",
                                         .skip = 1,
                                         .count = 2,
                                         .error = ERR_DISK_FULL,
                                         .torn = true});
    int log = put_file(io, "/x.log", "0123456789"), other = put_file(io, "/x.index", "i");
    assert_int_equal(io_pwrite(io, other, "ii", 2, 0), ERR_NONE);
    assert_int_equal(io_pwrite(io, log, "abcdefghij", 10, 0), ERR_DISK_FULL);
    assert_string_equal(io_error_text(io, ERR_DISK_FULL), "No space left on device");
    assert_int_equal(io_pwrite(io, log, "abcdefghij", 10, 0), ERR_DISK_FULL);
    assert_int_equal(io_pwrite(io, log, "ABCDEFGHIJ", 10, 0), ERR_NONE);
    assert_int_equal(sim_op_calls(m, SIM_WRITE), 6);
    assert_true(sim_op_calls(m, SIM_ANY) >= 8);
    sim_fault_add(m, &(struct sim_fault){.op = SIM_ANY, .count = -1, .error = ERR_IO});
    assert_int_equal(io_mkdir(io, "/d"), ERR_IO);
    sim_fault_clear(m);
    assert_int_equal(io_mkdir(io, "/d"), ERR_NONE);
    sim_free(sim);
}

static void a_disk_fills_up(void **state)
{
    (void)state;
    struct sim *sim = sim_new(6);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    sim_disk_set_space(m, 3 * 4096);
    int fd = put_file(io, "/f", "x");
    static uint8_t block[20000];
    assert_int_equal(io_pwrite(io, fd, block, sizeof block, 0), ERR_DISK_FULL);
    struct io_stat st;
    io_fstat(io, fd, &st);
    assert_int_equal(st.size, 3 * 4096); /* what fitted is there */
    struct io_space space;
    assert_int_equal(io_space(io, "/", &space), ERR_NONE);
    assert_int_equal(space.free, 0);
    int other = put_file(io, "/g", "");
    assert_int_equal(io_pwrite(io, other, "x", 1, 0), ERR_DISK_FULL);
    assert_int_equal(io_pwrite(io, fd, block, 100, 0), ERR_NONE); /* no new page */
    assert_int_equal(io_truncate(io, fd, 4096), ERR_NONE);
    assert_int_equal(io_pwrite(io, other, "x", 1, 0), ERR_NONE);
    assert_int_equal(io_unlink(io, "/f"), ERR_NONE);
    io_space(io, "/", &space);
    assert_int_equal(space.free, 2 * 4096);
    sim_free(sim);
}

static void pages_are_cached(void **state)
{
    (void)state;
    struct sim *sim = sim_new(7);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    static uint8_t block[12288];
    int fd = put_file(io, "/f", "");
    io_pwrite(io, fd, block, sizeof block, 0);
    assert_true(io_is_cached(io, fd, 0, sizeof block));
    sim_drop_caches(m);
    assert_false(io_is_cached(io, fd, 0, 1));
    size_t size;
    io_pread(io, fd, block, 1, 5000, &size);
    assert_true(io_is_cached(io, fd, 4096, 4096));
    assert_false(io_is_cached(io, fd, 4096, 4097));
    assert_true(sim_disk_corrupt(m, "/f", 100, 3));
    io_pread(io, fd, block, 1, 100, &size);
    assert_int_equal(block[0], 8);
    sim_free(sim);
}

/* ---- loops, clock and jobs --------------------------------------------------------------------
 */

enum { ACTORS = 6 };

struct actor {
    struct loop_task task;
    struct loop_timer timer;
    struct io_job job;
    struct world *world;
    char name;
    int rounds;
};

struct world {
    struct io *io;
    struct loop *loops[2];
    struct io_lane lane;
    struct actor actors[ACTORS];
    char trace[4096];
    size_t trace_size;
    bool lane_busy;
};

static void note(struct actor *a, char what)
{
    struct world *w = a->world;
    if (w->trace_size + 3 < sizeof w->trace) {
        w->trace[w->trace_size++] = what;
        w->trace[w->trace_size++] = a->name;
    }
}

static struct loop *loop_of(struct actor *a)
{
    return a->world->loops[a->name % 2];
}

static void actor_timer(struct loop_timer *timer)
{
    struct actor *a = LIST_ITEM(timer, struct actor, timer);
    assert_true(loop_is_current(loop_of(a)));
    note(a, 't');
    loop_post(loop_of(a), &a->task);
}

static void actor_run(struct io_job *job)
{
    struct actor *a = LIST_ITEM(job, struct actor, job);
    assert_false(loop_is_current(loop_of(a)));
    note(a, 'j');
}

static void actor_done(struct io_job *job)
{
    struct actor *a = LIST_ITEM(job, struct actor, job);
    note(a, 'd');
    if (++a->rounds < 20)
        loop_timer_set(loop_of(a), &a->timer, io_mono_ns(a->world->io) + 1000000);
}

static void actor_task(struct loop_task *task)
{
    struct actor *a = LIST_ITEM(task, struct actor, task);
    note(a, 'p');
    io_submit(a->world->io, &a->job);
}

static void play(uint64_t seed, char *ret_trace, uint64_t *ret_digest)
{
    struct sim *sim = sim_new(seed);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct world w = {.io = sim_machine_start(m)};
    w.loops[0] = loop_start(w.io, "even");
    w.loops[1] = loop_start(w.io, "odd");
    for (int i = 0; i < ACTORS; i++) {
        w.actors[i] = (struct actor){.task.run = actor_task,
                                     .timer.expired = actor_timer,
                                     .job = {.run = actor_run, .done = actor_done},
                                     .world = &w,
                                     .name = (char)('a' + i)};
        w.actors[i].job.loop = loop_of(&w.actors[i]);
        w.actors[i].job.lane = i < 3 ? &w.lane : NULL;
        loop_post(loop_of(&w.actors[i]), &w.actors[i].task);
    }
    assert_true(sim_run_idle(sim, 100000));
    for (int i = 0; i < ACTORS; i++)
        assert_int_equal(w.actors[i].rounds, 20);
    memcpy(ret_trace, w.trace, sizeof w.trace);
    *ret_digest = sim_digest(sim);
    loop_stop(w.loops[0]);
    loop_stop(w.loops[1]);
    assert_int_equal(sim_machine_exit(m), 0);
    sim_free(sim);
}

static void a_seed_gives_one_run(void **state)
{
    (void)state;
    static char one[4096], two[4096];
    uint64_t digest, again, different = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        play(seed, one, &digest);
        play(seed, two, &again);
        assert_true(digest == again);
        assert_string_equal(one, two);
        play(seed + 100, two, &again);
        different += digest != again && strcmp(one, two) != 0;
    }
    assert_int_equal(different, 5);
}

static void clocks(void **state)
{
    (void)state;
    struct sim *sim = sim_new(8);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    int64_t wall_ms = io_wall_ms(io), mono_ms = io_mono_ms(io);
    sim_run_for(sim, 5000);
    assert_int_equal(io_wall_ms(io) - wall_ms, 5000);
    assert_int_equal(io_mono_ms(io) - mono_ms, 5000);
    sim_clock_jump(m, -3600000);
    assert_int_equal(io_wall_ms(io) - wall_ms, 5000 - 3600000);
    assert_int_equal(io_mono_ms(io) - mono_ms, 5000);
    uint8_t one[16], two[16];
    io_random(io, one, 16);
    io_random(io, two, 16);
    assert_memory_not_equal(one, two, 16);
    sim_free(sim);
}

/* What a node asks after a crash: may unsynced bytes be gone? */
static void a_power_cut_is_another_boot(void **state)
{
    (void)state;
    struct sim *sim = sim_new(10);
    struct sim_machine *m = sim_machine_new(sim, "a");
    char first[IO_BOOT_ID_SIZE], killed[IO_BOOT_ID_SIZE], cut[IO_BOOT_ID_SIZE];
    assert_int_equal(io_boot_id(sim_machine_start(m), first), ERR_NONE);
    sim_machine_kill(m);
    assert_int_equal(io_boot_id(sim_machine_start(m), killed), ERR_NONE);
    assert_string_equal(first, killed);
    sim_machine_power_cut(m);
    assert_int_equal(io_boot_id(sim_machine_start(m), cut), ERR_NONE);
    assert_string_not_equal(first, cut);
    sim_free(sim);
}

static void stop_asked(void *context)
{
    *(bool *)context = true;
}

static void termination_arrives_on_the_loop(void **state)
{
    (void)state;
    struct sim *sim = sim_new(9);
    struct sim_machine *m = sim_machine_new(sim, "a");
    struct io *io = sim_machine_start(m);
    bool asked = false;
    assert_int_equal(io_on_stop(io, loop_start(io, "main"), stop_asked, &asked), ERR_NONE);
    sim_machine_terminate(m);
    assert_false(asked);
    sim_run_for(sim, 10);
    assert_true(asked);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_names),
        cmocka_unit_test(a_kill_keeps_everything),
        cmocka_unit_test(a_power_cut_loses_what_is_not_synced),
        cmocka_unit_test(a_power_cut_tears_pages_by_sectors),
        cmocka_unit_test(a_failed_fsync_loses_silently),
        cmocka_unit_test(a_lying_disk_keeps_what_it_is_asked_again),
        cmocka_unit_test(a_slow_disk_ends_jobs_late),
        cmocka_unit_test(faults_by_path_and_number),
        cmocka_unit_test(a_disk_fills_up),
        cmocka_unit_test(pages_are_cached),
        cmocka_unit_test(a_seed_gives_one_run),
        cmocka_unit_test(clocks),
        cmocka_unit_test(a_power_cut_is_another_boot),
        cmocka_unit_test(termination_arrives_on_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
