/* Loading all logs of all folders, in parallel: the names are listed first, then several worker
 * jobs take the next name each until none is left; the loop hears of the last one's end. A folder
 * whose logs cannot be loaded goes offline, the others go on. That the process may not have enough
 * open files is no fault of a folder, and a partition in two folders is one of both: then the load
 * as a whole fails, and nothing is written. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

#define FUTURE_SUFFIX "-future"
enum { UUID_HEX = 32 };

struct load_item {
    struct log_dir *dir;
    char *name; /* of the folder */
};

struct loader {
    struct log_dirs *dirs;
    struct log_dirs_load *load;
    struct load_item *items;
    size_t count, capacity;
    uint64_t next;             /* atomic */
    int32_t loaded, recovered; /* atomics */
    uint32_t out_of_files;     /* atomic: a log could not be opened for want of descriptors */
    uint32_t twice;            /* atomic: a partition lies in two folders */
    char *text;                /* ... which ones; or why not */
    enum err refused;          /* before any log was looked at */
    int workers;               /* under way; on the loop */
};

struct load_worker {
    struct io_job job;
    struct loader *loader;
};

static void add_item(struct loader *loader, struct log_dir *dir, const char *name)
{
    loader->items =
        mem_grow(loader->items, &loader->capacity, loader->count, sizeof *loader->items);
    loader->items[loader->count++] = (struct load_item){dir, mem_strdup(name)};
}

bool log_dir_parse_folder(const char *name, struct slice *ret_topic, int32_t *ret_partition)
{
    if (!log_dir_has_suffix(name, FUTURE_SUFFIX))
        return log_dir_parse_name(name, ret_topic, ret_partition);
    size_t rest = strlen(".") + UUID_HEX + strlen(FUTURE_SUFFIX);
    char *front = mem_printf("%.*s", (int)(strlen(name) - rest), name);
    bool is_one = log_dir_parse_name(front, ret_topic, ret_partition);
    if (is_one)
        ret_topic->data = (const uint8_t *)name; /* it begins in the same way */
    mem_free(front);
    return is_one;
}

/* Kafka takes any folder for a partition's, and does not start with one that is none. */
static void tell_foreign(struct log_dir *dir, const char *name)
{
    char *path = log_dir_file(dir, name);
    struct io_stat stat;
    if (io_stat(dir->dirs->io, path, &stat) == ERR_NONE && stat.is_dir)
        diag(DIAG_STORE, DIAG_WARN,
             "%s is not a partition's folder and is left alone; Apache Kafka would not start with "
             "it",
             path);
    mem_free(path);
}

static void list_folder(struct loader *loader, struct log_dir *dir)
{
    struct io *io = loader->dirs->io;
    char **names;
    size_t count, before = loader->count;
    enum err err = io_list_dir(io, dir->path, &names, &count);
    if (err) {
        log_dir_fail(dir, "list");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct slice topic;
        int32_t partition;
        if (strcmp(names[i], "__cluster_metadata-0") == 0)
            continue;
        if (log_dir_has_suffix(names[i], "-delete")) {
            char *path = log_dir_file(dir, names[i]);
            log_dir_delete_folder_later(dir, path,
                                        loader->load->default_config.file_delete_delay_ms);
            mem_free(path);
        } else if (log_dir_has_suffix(names[i], "-stray")) {
            diag(DIAG_STORE, DIAG_WARN,
                 "%s/%s was set aside by an earlier start and is left alone; delete it when it is "
                 "of no use",
                 dir->path, names[i]);
        } else if (log_dir_parse_folder(names[i], &topic, &partition)) {
            /* No file of a log folder has such a name. */
            add_item(loader, dir, names[i]);
        } else {
            tell_foreign(dir, names[i]);
        }
    }
    io_free_names(names, count);
    /* A killed process may have left folders whose names are not on disk yet. */
    if (!dir->clean && loader->count > before && io_sync_dir(io, dir->path))
        log_dir_fail(dir, "sync");
}

/* Two folders of one name: which of them holds what was written last, nobody can tell. */
static void refuse_twice(struct loader *loader, const struct log *log, const struct log *other)
{
    diag(DIAG_STORE, DIAG_ERROR, "%s and %s are the same partition", log->path->text,
         other->path->text);
    if (__atomic_exchange_n(&loader->twice, 1, __ATOMIC_ACQ_REL))
        return;
    loader->text = mem_printf("%s is there twice: %s and %s. Perhaps a folder failed while the "
                              "partition was being moved: look which one is newer, move the other "
                              "one away and start again",
                              log->name, other->path->text, log->path->text);
}

static void take_in(struct loader *loader, struct log *log, bool clean)
{
    struct log_dirs *dirs = loader->dirs;
    if (log_dir_has_suffix(log->path->text, FUTURE_SUFFIX))
        log_dir_mark_future(log);
    lock_take(&dirs->table_lock);
    const struct log *other = map_get(&dirs->logs, slice_str(log->name));
    if (!other) {
        map_put(&dirs->logs, slice_str(log->name), log);
        log->dir->log_count++;
    }
    lock_release(&dirs->table_lock);
    if (other) {
        refuse_twice(loader, log, other);
        log_free(log);
        return;
    }
    __atomic_fetch_add(&loader->loaded, 1, __ATOMIC_RELAXED);
    if (!clean)
        __atomic_fetch_add(&loader->recovered, 1, __ATOMIC_RELAXED);
}

/* All logs together read no more than this for the last batches of producers, unless there are very
 * many: a start must not take long for their sake. */
static uint32_t tail_size(const struct loader *loader)
{
    const size_t all = (size_t)512 << 20;
    size_t each = all / (loader->count ? loader->count : 1);
    return each > LOG_TAIL_MAX ? LOG_TAIL_MAX : each < LOG_TAIL_MIN ? LOG_TAIL_MIN : (uint32_t)each;
}

static void load_one(struct loader *loader, const struct load_item *item)
{
    struct log_dirs *dirs = loader->dirs;
    struct log_dir *dir = item->dir;
    if (!log_dir_online(dir))
        return;
    char *path = log_dir_file(dir, item->name);
    struct log_open_options options = {.io = dirs->io,
                                       .dir = dir,
                                       .path = path,
                                       .clean = dir->clean,
                                       .tail_size = tail_size(loader)};
    ENSURE(log_dir_parse_folder(item->name, &options.topic, &options.partition));
    options.config = loader->load->default_config;
    if (loader->load->config)
        loader->load->config(loader->load->context, options.topic, &options.config);
    checkpoint_get(&dir->recovery_points, options.topic, options.partition,
                   &options.recovery_point);
    checkpoint_get(&dir->log_starts, options.topic, options.partition, &options.log_start);
    struct log *log;
    enum err err = log_open(&options, &log);
    if (err == ERR_TOO_MANY_FILES) {
        __atomic_store_n(&loader->out_of_files, 1, __ATOMIC_RELAXED);
    } else if (err) {
        diag(DIAG_STORE, DIAG_ERROR, "%s cannot be loaded: %s", path, err_text(err));
        log_dir_fail(dir, "load partition");
    } else {
        checkpoint_get(&dir->cleaned, options.topic, options.partition, &log->first_dirty);
        take_in(loader, log, dir->clean);
    }
    mem_free(path);
}

static void run_worker(struct io_job *job)
{
    struct loader *loader = ((struct load_worker *)(void *)job)->loader;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&loader->next, 1, __ATOMIC_RELAXED);
        if (at >= loader->count)
            return;
        load_one(loader, &loader->items[at]);
    }
}

static void finish(struct loader *loader)
{
    struct log_dirs_load *load = loader->load;
    load->loaded = loader->loaded;
    load->recovered = loader->recovered;
    load->err = ERR_IO;
    for (int i = 0; i < loader->dirs->dir_count; i++) {
        struct log_dir *dir = loader->dirs->dirs[i];
        if (loader->out_of_files || loader->twice || loader->refused)
            __atomic_store_n(&dir->online, 0, __ATOMIC_RELEASE); /* no checkpoint of a part */
        if (log_dir_online(dir))
            load->err = ERR_NONE;
        checkpoint_fini(&dir->recovery_points);
        checkpoint_fini(&dir->log_starts);
        checkpoint_fini(&dir->cleaned);
    }
    if (loader->twice) /* first, as it has a text */
        load->err = ERR_EXISTS;
    else if (loader->out_of_files)
        load->err = ERR_TOO_MANY_FILES;
    else if (loader->refused)
        load->err = loader->refused;
    load->text = loader->text;
    /* Recovery may have used up what there was. */
    if (!load->err && log_dir_online(loader->dirs->metadata)) {
        log_dir_poll_space(loader->dirs->metadata);
        log_reserve_give_back(loader->dirs->metadata);
    }
    for (size_t i = 0; i < loader->count; i++)
        mem_free(loader->items[i].name);
    mem_free(loader->items);
    mem_free(loader);
    load->done(load);
}

static void worker_done(struct io_job *job)
{
    struct load_worker *worker = (struct load_worker *)(void *)job;
    struct loader *loader = worker->loader;
    mem_free(worker);
    if (--loader->workers == 0)
        finish(loader);
}

static void list_and_start(struct io_job *job)
{
    struct loader *loader = ((struct load_worker *)(void *)job)->loader;
    if (loader->refused)
        return;
    log_boot_note(loader->dirs, loader->load->producer_id_next);
    for (int i = 0; i < loader->dirs->dir_count; i++)
        if (log_dir_online(loader->dirs->dirs[i]))
            list_folder(loader, loader->dirs->dirs[i]);
}

static void listed(struct io_job *job)
{
    struct load_worker *lister = (struct load_worker *)(void *)job;
    struct loader *loader = lister->loader;
    struct loop *loop = job->loop;
    mem_free(lister);
    int workers = loader->dirs->options.recovery_threads * loader->dirs->dir_count;
    int processors = io_processors(loader->dirs->io);
    if (workers < processors)
        workers = processors;
    if (workers > (int)loader->count)
        workers = (int)loader->count;
    if (workers == 0) {
        finish(loader);
        return;
    }
    loader->workers = workers;
    for (int i = 0; i < workers; i++) {
        struct load_worker *worker = mem_zalloc(sizeof *worker);
        worker->loader = loader;
        worker->job.run = run_worker;
        worker->job.done = worker_done;
        worker->job.loop = loop;
        io_submit(loader->dirs->io, &worker->job);
    }
}

void log_dirs_load(struct log_dirs *dirs, struct loop *loop, struct log_dirs_load *load)
{
    __atomic_store_n(&dirs->telling, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < dirs->folder_count; i++)
        log_dir_tell(dirs->dirs[i]);
    struct loader *loader = mem_zalloc(sizeof *loader);
    loader->dirs = dirs;
    loader->load = load;
    loader->refused = log_dirs_join(dirs, &loader->text);
    struct load_worker *lister = mem_zalloc(sizeof *lister);
    lister->loader = loader;
    lister->job.run = list_and_start;
    lister->job.done = listed;
    lister->job.loop = loop;
    io_submit(dirs->io, &lister->job);
}
