/* The node's log folders and the table of its logs: opening (locks, leftovers of the run before),
 * finding, creating and deleting logs. See log_dirs.h for the order of a node's life and
 * log_dirs_internal.h for the locks. */
#include "store/log_dirs.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "store/log_dirs_internal.h"

void log_dirs_options_init(struct log_dirs_options *options)
{
    *options = (struct log_dirs_options){
        .node_id = -1,
        .paths_key = "log.dirs",
        .recovery_threads = 2,
        .checkpoint_ms = 60000,
        .start_checkpoint_ms = 60000,
        .watermark_checkpoint_ms = 5000,
        .retention_check_ms = 300000,
        .producer_expiry_check_ms = 600000,
        .initial_delay_ms = 30000,
        .background_flush_size = 16 << 20,
        .background_flush_ms = 30000,
        .reserve_client = 64 << 20,
        .reserve_coordinator = 16 << 20,
        .reserve_part = 16,
        .files_max = 4096,
    };
    cleaner_config_init(&options->cleaner);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* Makes the folder and what is missing above it. */
static enum err make_folder(struct io *io, const char *path)
{
    enum err err = io_mkdir(io, path);
    if (err == ERR_EXISTS)
        return ERR_NONE;
    const char *slash = strrchr(path, '/');
    if (err != ERR_NOT_FOUND || !slash || slash == path)
        return err;
    char *parent = mem_printf("%.*s", (int)(slash - path), path);
    err = make_folder(io, parent);
    mem_free(parent);
    if (err)
        return err;
    err = io_mkdir(io, path);
    return err == ERR_EXISTS ? ERR_NONE : err;
}

static struct log_dir *new_dir(struct log_dirs *dirs, const char *path)
{
    struct log_dir *dir = mem_zalloc(sizeof *dir);
    dir->dirs = dirs;
    dir->path = mem_strdup(path);
    dir->lock_fd = -1;
    dir->online = 1;
    dir->broker_epoch = -1;
    lock_init(&dir->lock, LOCK_LOG_DIR);
    lock_init(&dir->checkpoint_lock, LOCK_CHECKPOINT);
    list_init(&dir->dirty);
    list_init(&dir->deletions);
    checkpoint_init(&dir->recovery_points);
    checkpoint_init(&dir->log_starts);
    checkpoint_init(&dir->watermarks);
    checkpoint_init(&dir->cleaned);
    return dir;
}

static void free_dir(struct log_dir *dir)
{
    if (!dir)
        return;
    log_dir_forget_deletions(dir);
    if (dir->lock_fd >= 0)
        io_close(dir->dirs->io, dir->lock_fd);
    checkpoint_fini(&dir->recovery_points);
    checkpoint_fini(&dir->log_starts);
    checkpoint_fini(&dir->watermarks);
    checkpoint_fini(&dir->cleaned);
    lock_fini(&dir->lock);
    lock_fini(&dir->checkpoint_lock);
    mem_free(dir->path);
    mem_free(dir->unusable);
    mem_free(dir);
}

static enum err lock_folder(struct log_dir *dir, char **ret_text)
{
    char *path = log_dir_file(dir, ".lock");
    enum err err = io_lock_file(dir->dirs->io, path, &dir->lock_fd);
    mem_free(path);
    if (err == ERR_BUSY) {
        *ret_text =
            mem_printf("%s: the log folder %s is in use by another process, which holds its "
                       ".lock file. Stop that one or choose another folder.",
                       log_dir_key(dir), dir->path);
        return err;
    }
    if (err && err != ERR_DISK_FULL)
        log_dir_unusable(dir, err);
    return ERR_NONE;
}

static struct uuid random_id(struct io *io)
{
    struct uuid id;
    uint8_t random[16];
    do
        io_random(io, random, sizeof random);
    while (!uuid_from_random(random, &id));
    return id;
}

/* What no folder had before gets a directory.id, which is written by log_dirs_join. */
static void choose_ids(struct log_dirs *dirs)
{
    for (int i = 0; i < dirs->folder_count; i++)
        if (log_dir_online(dirs->dirs[i]) && uuid_is_zero(&dirs->dirs[i]->id))
            dirs->dirs[i]->id = random_id(dirs->io);
}

static void write_meta(struct log_dir *dir)
{
    struct log_dirs *dirs = dir->dirs;
    struct log_meta meta = {.version = 1, .node_id = dirs->node_id, .directory_id = dir->id};
    struct slice id = slice_str(dirs->cluster_id);
    memcpy(meta.cluster_id, id.data, id.size);
    enum err err = log_meta_write(dirs->io, dir->path, &meta);
    /* What is missing in an old one is written another time. In a new folder a log that gets room
     * later would be one without a meta.properties beside it, and the next start is refused. */
    if (err == ERR_DISK_FULL && !dir->is_formatted)
        log_dir_unusable(dir, err);
    else if (err && err != ERR_DISK_FULL)
        log_dir_check_there(dir, err == ERR_NOT_FOUND ? err : ERR_IO, "write meta.properties");
}

static void read_checkpoint(struct log_dir *dir, struct checkpoint *checkpoint, const char *name)
{
    enum err err = checkpoint_read(checkpoint, dir->dirs->io, dir->path, name);
    if (err == ERR_CORRUPT)
        diag(DIAG_STORE, DIAG_WARN, "%s/%s cannot be read and is left out of account", dir->path,
             name);
    else if (err)
        log_dir_check(dir, err, name);
}

static void read_state(struct log_dir *dir)
{
    log_dir_take_clean_file(dir);
    read_checkpoint(dir, &dir->recovery_points, CHECKPOINT_RECOVERY_POINT);
    read_checkpoint(dir, &dir->log_starts, CHECKPOINT_LOG_START);
    read_checkpoint(dir, &dir->watermarks, CHECKPOINT_HIGH_WATERMARK);
    read_checkpoint(dir, &dir->cleaned, CHECKPOINT_CLEANER);
    log_dir_poll_space(dir);
}

static void add_folders(struct log_dirs *dirs)
{
    const struct log_dirs_options *options = &dirs->options;
    dirs->dirs = mem_array((size_t)options->path_count + 1, sizeof(struct log_dir *));
    for (int i = 0; i < options->path_count; i++)
        dirs->dirs[dirs->folder_count++] = new_dir(dirs, options->paths[i]);
    dirs->dir_count = dirs->folder_count;
    dirs->metadata = dirs->dirs[0];
    if (!options->metadata_path)
        return;
    for (int i = 0; i < dirs->dir_count; i++) {
        if (strcmp(dirs->dirs[i]->path, options->metadata_path) == 0) {
            dirs->metadata = dirs->dirs[i];
            return;
        }
    }
    dirs->metadata = new_dir(dirs, options->metadata_path);
    dirs->metadata->is_metadata = true;
    dirs->dirs[dirs->folder_count++] = dirs->metadata;
}

/* A folder that was new when it was looked at. Nobody else may have made it his meanwhile. */
static enum err make_new(struct log_dir *dir, char **ret_text)
{
    struct io *io = dir->dirs->io;
    enum err err = make_folder(io, dir->path);
    if (err) {
        log_dir_unusable(dir, err);
        return ERR_NONE;
    }
    err = lock_folder(dir, ret_text);
    struct log_meta meta;
    if (!err && log_dir_online(dir) && log_meta_read(io, dir->path, &meta) != ERR_NOT_FOUND) {
        *ret_text = mem_printf("The log folder %s was formatted by another process just now. Is it "
                               "this node's? Then start it again.",
                               dir->path);
        err = ERR_BUSY;
    }
    return err;
}

enum err log_dirs_join(struct log_dirs *dirs, char **ret_text)
{
    enum err err = ERR_NONE;
    for (int i = 0; i < dirs->folder_count && !err; i++)
        if (log_dir_is_new(dirs->dirs[i]))
            err = make_new(dirs->dirs[i], ret_text);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        if (log_dir_online(dirs->dirs[i]) && !dirs->dirs[i]->meta_complete)
            write_meta(dirs->dirs[i]);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        if (log_dir_online(dirs->dirs[i]))
            read_state(dirs->dirs[i]);
    return err;
}

enum err log_dirs_open(const struct log_dirs_options *options, struct log_dirs **ret_dirs,
                       char **ret_text)
{
    ENSURE(options->path_count > 0);
    struct log_dirs *dirs = mem_zalloc(sizeof *dirs);
    dirs->io = options->io;
    dirs->options = *options;
    dirs->cache = file_cache_new(options->io, options->files_max);
    if (!slice_is_null(options->cluster_id))
        dirs->cluster_id = slice_to_cstr(options->cluster_id);
    lock_init(&dirs->table_lock, LOCK_LOGS);
    lock_signal_init(&dirs->visits_ended);
    map_init(&dirs->logs);
    map_init(&dirs->wishes);
    add_folders(dirs);
    dirs->cleaner = cleaner_new(dirs, &options->cleaner);
    enum err err = log_dirs_check(dirs, ret_text);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        if (dirs->dirs[i]->is_formatted)
            err = lock_folder(dirs->dirs[i], ret_text);
    if (!err)
        err = log_dirs_check(dirs, ret_text);
    if (err) {
        log_dirs_free(dirs);
        return err;
    }
    choose_ids(dirs);
    for (int i = 0; i < dirs->folder_count; i++)
        log_dir_poll_space(dirs->dirs[i]);
    /* Texts of the caller are not kept. */
    dirs->options.paths = NULL;
    dirs->options.metadata_path = NULL;
    dirs->options.cluster_id = SLICE_NULL;
    *ret_dirs = dirs;
    return ERR_NONE;
}

void log_dirs_free(struct log_dirs *dirs)
{
    if (!dirs)
        return;
    log_dirs_stop_timer(dirs);
    cleaner_free(dirs->cleaner);
    for (size_t i = 0; i < map_count(&dirs->logs); i++)
        log_free(map_at(&dirs->logs, i));
    map_fini(&dirs->logs);
    for (size_t i = 0; i < map_count(&dirs->wishes); i++)
        mem_free(map_at(&dirs->wishes, i));
    map_fini(&dirs->wishes);
    for (int i = 0; i < dirs->folder_count; i++)
        free_dir(dirs->dirs[i]);
    mem_free(dirs->dirs);
    mem_free(dirs->cluster_id);
    lock_signal_fini(&dirs->visits_ended);
    lock_fini(&dirs->table_lock);
    file_cache_unref(dirs->cache);
    mem_free(dirs);
}

/* ---- folders ----------------------------------------------------------------------------------
 */

int log_dirs_count(const struct log_dirs *dirs)
{
    return dirs->dir_count;
}

struct log_dir *log_dirs_at(const struct log_dirs *dirs, int index)
{
    ENSURE(index >= 0 && index < dirs->dir_count);
    return dirs->dirs[index];
}

struct log_dir *log_dirs_metadata(const struct log_dirs *dirs)
{
    return dirs->metadata;
}

bool log_dir_is_new(const struct log_dir *dir)
{
    return log_dir_online(dir) && !dir->is_formatted;
}

bool log_dirs_files_short(const struct log_dirs *dirs)
{
    return file_cache_is_short(dirs->cache);
}

struct slice log_dirs_cluster_id(const struct log_dirs *dirs)
{
    return slice_str(dirs->cluster_id);
}

int64_t log_dirs_clean_broker_epoch(const struct log_dirs *dirs)
{
    int64_t epoch = dirs->dirs[0]->broker_epoch;
    for (int i = 0; i < dirs->dir_count; i++)
        if (!dirs->dirs[i]->clean || dirs->dirs[i]->broker_epoch != epoch)
            return -1;
    return epoch;
}
