/* What the log folders hold, looked at without writing: where Apache Kafka refuses a start it is
 * refused here, and every folder stays as it was. log_dirs_open looks twice: before it takes the
 * locks, which makes files, and with them, when nobody else can change what was seen. */
#include "base/mem.h"
#include "os/diag.h"
#include "store/log_dirs_internal.h"

#define METADATA_FOLDER "__cluster_metadata-0"
#define METADATA_KEYS   "metadata.log.dir, or without it the first of log.dirs"

/* ---- meta.properties ---- */

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
            *ret_text = mem_printf("%s and %s have the same directory.id: one is a copy, or both "
                                   "are names of one folder.",
                                   dirs->dirs[i]->path, dir->path);
            return ERR_ARGUMENT;
        }
    }
    dir->id = meta->directory_id;
    dir->is_formatted = true;
    dir->meta_complete = meta->version == 1 && !uuid_is_zero(&meta->directory_id);
    if (meta->node_id >= 0)
        dirs->node_id = meta->node_id;
    return ERR_NONE;
}

const char *log_dir_key(const struct log_dir *dir)
{
    return dir->is_metadata ? "metadata.log.dir" : dir->dirs->options.paths_key;
}

void log_dir_unusable(struct log_dir *dir, enum err err)
{
    const char *why = io_error_text(dir->dirs->io, err);
    diag(DIAG_STORE, DIAG_ERROR,
         "%s: log folder %s cannot be used: %s. Its partitions are not served until it is "
         "mended and the node started again",
         log_dir_key(dir), dir->path, why);
    dir->unusable = mem_strdup(why);
    __atomic_store_n(&dir->online, 0, __ATOMIC_RELEASE);
}

static enum err read_meta(struct log_dirs *dirs, struct log_dir *dir, char **ret_text)
{
    struct log_meta meta;
    enum err err = log_meta_read(dirs->io, dir->path, &meta);
    if (err == ERR_NOT_FOUND)
        return ERR_NONE;
    if (err == ERR_CORRUPT) {
        *ret_text = mem_printf("%s/meta.properties cannot be understood: it must hold "
                               "version=1, cluster.id, node.id (a number from 0 on) and, if "
                               "any, directory.id (22 characters, as klamm storage "
                               "random-uuid prints). Put it back from a copy.",
                               dir->path);
        return err;
    }
    if (!err)
        return check_meta(dirs, dir, &meta, ret_text);
    if (err == ERR_TOO_MANY_FILES) { /* says nothing of the folder */
        *ret_text =
            mem_printf("%s/meta.properties: %s. Raise the limit of open files (ulimit -n, or "
                       "LimitNOFILE= of the service)",
                       dir->path, io_error_text(dirs->io, err));
        return err;
    }
    log_dir_unusable(dir, err);
    return ERR_NONE;
}

static enum err read_metas(struct log_dirs *dirs, char **ret_text)
{
    enum err err = ERR_NONE;
    bool any_online = false, any_formatted = false;
    dirs->node_id = dirs->options.node_id;
    for (int i = 0; i < dirs->folder_count; i++) {
        dirs->dirs[i]->id = UUID_ZERO;
        dirs->dirs[i]->is_formatted = dirs->dirs[i]->meta_complete = false;
    }
    for (int i = 0; i < dirs->folder_count && !err; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (log_dir_online(dir))
            err = read_meta(dirs, dir, ret_text);
        any_online |= i < dirs->dir_count && log_dir_online(dir);
        any_formatted |= dir->is_formatted;
    }
    if (err)
        return err;
    if (!any_online) {
        const struct log_dir *first = dirs->dirs[0];
        *ret_text = mem_printf(
            "%s: none of the log folders can be used, beginning with %s: %s. Name folders "
            "that exist or can be made, and that this user may write to",
            log_dir_key(first), first->path, first->unusable);
        return ERR_IO;
    }
    if (!log_dir_online(dirs->metadata)) {
        *ret_text = mem_printf("The metadata folder %s (" METADATA_KEYS ") cannot be used: %s. "
                               "Without the metadata no partition can be served.",
                               dirs->metadata->path, dirs->metadata->unusable);
        return ERR_IO;
    }
    if (!any_formatted) {
        *ret_text = mem_printf("No meta.properties found in %s: format the folder first, as in "
                               "klamm storage format --cluster-id $(klamm storage random-uuid) "
                               "--standalone --config FILE (one that begins a cluster).",
                               dirs->metadata->path);
        return ERR_NOT_FOUND;
    }
    if (!dirs->cluster_id) {
        *ret_text = mem_strdup("No meta.properties of the log folders has a cluster.id. Put them "
                               "back from a copy.");
        return ERR_CORRUPT;
    }
    return ERR_NONE;
}

/* ---- the metadata log ---- */

static bool holds_metadata(const struct log_dir *dir)
{
    struct io_stat stat;
    char *path = log_dir_file(dir, METADATA_FOLDER);
    bool is_there = !io_stat(dir->dirs->io, path, &stat);
    mem_free(path);
    return is_there;
}

/* A second history would begin beside the first, and topics of the one be strays in the other. */
static enum err check_metadata_place(const struct log_dirs *dirs, const struct log_dir *dir,
                                     char **ret_text)
{
    const struct log_dir *metadata = dirs->metadata;
    if (dir == metadata || !log_dir_online(dir) || !holds_metadata(dir))
        return ERR_NONE;
    if (holds_metadata(metadata))
        *ret_text = mem_printf(
            "Found unexpected metadata location in data directory %s/" METADATA_FOLDER
            ": the metadata folder is %s (" METADATA_KEYS "), which holds one, too. A node has one "
            "metadata log: find out which it is, name its folder first in log.dirs or as "
            "metadata.log.dir, and move the other " METADATA_FOLDER " out of the log folders.",
            dir->path, metadata->path);
    else
        *ret_text = mem_printf(
            "Found unexpected metadata location in data directory %s/" METADATA_FOLDER
            ": the metadata folder is %s (" METADATA_KEYS "), which holds none. Was the order of "
            "log.dirs, or metadata.log.dir, changed? Name %s first in log.dirs, or set "
            "metadata.log.dir=%s.",
            dir->path, metadata->path, dir->path, dir->path);
    return ERR_ARGUMENT;
}

/* Formatted by the start itself, it would know no topics: what lies in the others were strays. */
static enum err check_metadata_folder(const struct log_dirs *dirs, char **ret_text)
{
    const struct log_dir *metadata = dirs->metadata;
    if (metadata->is_formatted)
        return ERR_NONE;
    struct io_stat stat;
    bool is_there = !io_stat(dirs->io, metadata->path, &stat);
    *ret_text = mem_printf(
        "No meta.properties found in %s, the metadata folder (" METADATA_KEYS
        "), %s, while other log folders are formatted for cluster %s. Is its disk mounted, and is "
        "metadata.log.dir, or the order of log.dirs, what it was? Otherwise put the folder back "
        "from a copy; klamm storage format --ignore-formatted makes one that knows no topics.",
        metadata->path, is_there ? "where there is none" : "which does not exist",
        dirs->cluster_id);
    return ERR_NOT_FOUND;
}

/* ---- partitions ---- */

/* A partition's folder in `dir` (mem_alloc), or NULL. */
static char *find_partition(const struct log_dir *dir)
{
    struct io *io = dir->dirs->io;
    char **names, *found = NULL;
    size_t count;
    if (io_list_dir(io, dir->path, &names, &count))
        return NULL;
    for (size_t i = 0; i < count && !found; i++) {
        struct slice topic;
        int32_t partition;
        if (strcmp(names[i], METADATA_FOLDER) != 0 &&
            log_dir_parse_folder(names[i], &topic, &partition))
            found = log_dir_file(dir, names[i]);
    }
    io_free_names(names, count);
    return found;
}

char *log_dirs_find_partition(const struct log_dirs *dirs)
{
    char *found = NULL;
    for (int i = 0; i < dirs->dir_count && !found; i++)
        if (log_dir_online(dirs->dirs[i]))
            found = find_partition(dirs->dirs[i]);
    return found;
}

/* A new folder is formatted by the start; one that holds logs was formatted once, and under the
 * directory.id of that time its partitions are known. */
static enum err check_new_folder(const struct log_dir *dir, char **ret_text)
{
    if (!log_dir_online(dir) || dir->is_formatted)
        return ERR_NONE;
    char *partition = find_partition(dir);
    if (!partition)
        return ERR_NONE;
    *ret_text = mem_printf("No meta.properties found in %s, but it holds partitions, as %s. Put "
                           "the file back from a copy, or let klamm storage format "
                           "--ignore-formatted write one with a new directory.id.",
                           dir->path, partition);
    mem_free(partition);
    return ERR_NOT_FOUND;
}

enum err log_dirs_check(struct log_dirs *dirs, char **ret_text)
{
    enum err err = read_metas(dirs, ret_text);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        err = check_metadata_place(dirs, dirs->dirs[i], ret_text);
    if (!err)
        err = check_metadata_folder(dirs, ret_text);
    for (int i = 0; i < dirs->folder_count && !err; i++)
        err = check_new_folder(dirs->dirs[i], ret_text);
    return err;
}
