/* The node's log folders and the table of its logs: opening (meta.properties, locks, leftovers of
 * the run before), finding, creating and deleting logs. See log_dirs.h for the order of a node's
 * life and log_dirs_internal.h for the locks. */
#include "store/log_dirs.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "store/log_dirs_internal.h"

#define METADATA_FOLDER "__cluster_metadata-0"

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
    mem_free(dir);
}

/* The key of the configuration that names the folder. */
static const char *key_of(const struct log_dir *dir)
{
    return dir->is_metadata ? "metadata.log.dir" : dir->dirs->options.paths_key;
}

/* *ret_refused: why the folder is offline. */
static enum err lock_folder(struct log_dir *dir, enum err *ret_refused, char **ret_text)
{
    struct io *io = dir->dirs->io;
    enum err err = make_folder(io, dir->path);
    if (!err) {
        char *path = log_dir_file(dir, ".lock");
        err = io_lock_file(io, path, &dir->lock_fd);
        mem_free(path);
    }
    if (err == ERR_BUSY) {
        *ret_text =
            mem_printf("%s: the log folder %s is in use by another process, which holds its "
                       ".lock file. Stop that one or choose another folder.",
                       key_of(dir), dir->path);
        return err;
    }
    /* A folder that cannot be used goes offline; the others live. */
    if (err && err != ERR_DISK_FULL) {
        diag(DIAG_STORE, DIAG_ERROR,
             "%s: log folder %s cannot be used: %s. Its partitions are not served until it is "
             "mended and the node started again",
             key_of(dir), dir->path, io_error_text(io, err));
        __atomic_store_n(&dir->online, 0, __ATOMIC_RELEASE);
        *ret_refused = err;
    }
    return ERR_NONE;
}

static enum err check_meta(struct log_dirs *dirs, struct log_dir *dir, const struct log_meta *meta,
                           char **ret_text)
{
    const struct log_dirs_options *options = &dirs->options;
    if (!dirs->cluster_id && meta->cluster_id[0])
        dirs->cluster_id = mem_strdup(meta->cluster_id);
    if (meta->cluster_id[0] && strcmp(dirs->cluster_id, meta->cluster_id) != 0) {
        *ret_text = mem_printf("%s/meta.properties has cluster.id %s, but this cluster is %s.",
                               dir->path, meta->cluster_id, dirs->cluster_id);
        return ERR_INCONSISTENT_CLUSTER_ID;
    }
    if (meta->node_id >= 0 && options->node_id >= 0 && meta->node_id != options->node_id) {
        *ret_text = mem_printf("%s/meta.properties has node.id %d, but this node is %d. Use the "
                               "folder of this node, or the node.id of this folder.",
                               dir->path, meta->node_id, options->node_id);
        return ERR_ARGUMENT;
    }
    for (int i = 0; i < dirs->folder_count; i++) {
        if (dirs->dirs[i] != dir && !uuid_is_zero(&meta->directory_id) &&
            uuid_eq(&dirs->dirs[i]->id, &meta->directory_id)) {
            *ret_text = mem_printf("%s and %s have the same directory.id: one is a copy.",
                                   dirs->dirs[i]->path, dir->path);
            return ERR_ARGUMENT;
        }
    }
    dir->id = meta->directory_id;
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

/* Folders without meta.properties (or of version 0) get one once another told the cluster. */
static enum err write_missing_meta(struct log_dirs *dirs, const bool *written, int32_t node_id)
{
    for (int i = 0; i < dirs->folder_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (!log_dir_online(dir) || written[i])
            continue;
        if (uuid_is_zero(&dir->id))
            dir->id = random_id(dirs->io);
        struct log_meta meta = {.version = 1, .node_id = node_id, .directory_id = dir->id};
        struct slice id = slice_str(dirs->cluster_id);
        memcpy(meta.cluster_id, id.data, id.size);
        enum err err = log_meta_write(dirs->io, dir->path, &meta);
        if (err && err != ERR_DISK_FULL)
            log_dir_check_there(dir, err == ERR_NOT_FOUND ? err : ERR_IO, "write meta.properties");
    }
    return ERR_NONE;
}

static enum err read_metas(struct log_dirs *dirs, char **ret_text)
{
    bool *complete = mem_array((size_t)dirs->folder_count, sizeof *complete);
    int32_t node_id = dirs->options.node_id;
    bool any = false;
    enum err err = ERR_NONE;
    for (int i = 0; i < dirs->folder_count && !err; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (!log_dir_online(dir))
            continue;
        struct log_meta meta;
        err = log_meta_read(dirs->io, dir->path, &meta);
        if (err == ERR_NOT_FOUND) {
            err = ERR_NONE;
        } else if (err == ERR_CORRUPT) {
            *ret_text = mem_printf("%s/meta.properties cannot be understood: it must hold "
                                   "version=1, cluster.id, node.id (a number from 0 on) and, if "
                                   "any, directory.id (22 characters, as klamm storage "
                                   "random-uuid prints). Put it back from a copy.",
                                   dir->path);
        } else if (err) {
            log_dir_fail(dir, "read meta.properties");
            err = ERR_NONE;
        } else {
            err = check_meta(dirs, dir, &meta, ret_text);
            complete[i] = meta.version == 1 && !uuid_is_zero(&meta.directory_id);
            node_id = meta.node_id >= 0 ? meta.node_id : node_id;
            any = true;
        }
    }
    if (!err && !any) {
        *ret_text = mem_printf("No meta.properties found in %s: format the folder first, as in "
                               "klamm storage format --cluster-id $(klamm storage random-uuid) "
                               "--standalone --config FILE (one that begins a cluster).",
                               dirs->dirs[0]->path);
        err = ERR_NOT_FOUND;
    }
    if (!err)
        err = write_missing_meta(dirs, complete, node_id);
    mem_free(complete);
    return err;
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

static bool any_online(const struct log_dirs *dirs)
{
    for (int i = 0; i < dirs->dir_count; i++)
        if (log_dir_online(dirs->dirs[i]))
            return true;
    return false;
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
    enum err err = ERR_NONE, refused = ERR_IO;
    for (int i = 0; i < dirs->folder_count && !err; i++)
        err = lock_folder(dirs->dirs[i], &refused, ret_text);
    if (!err && !any_online(dirs)) {
        *ret_text = mem_printf(
            "%s: none of the log folders can be used, beginning with %s: %s. Name folders "
            "that exist or can be made, and that this user may write to",
            options->paths_key, dirs->dirs[0]->path, io_error_text(dirs->io, refused));
        err = ERR_IO;
    }
    if (!err)
        err = read_metas(dirs, ret_text);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        if (log_dir_online(dirs->dirs[i]))
            read_state(dirs->dirs[i]);
    if (!err)
        log_reserve_give_back(dirs->metadata);
    if (err) {
        log_dirs_free(dirs);
        return err;
    }
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
    int64_t epoch = -1;
    for (int i = 0; i < dirs->dir_count; i++) {
        if (!dirs->dirs[i]->clean)
            return -1;
        epoch = dirs->dirs[i]->broker_epoch;
    }
    return epoch;
}
