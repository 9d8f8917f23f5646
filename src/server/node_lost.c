/* What a start finds missing when it holds the metadata against the log folders. What it would make
 * in the place of that, empty, would stand for what was acknowledged. */
#include "api/context.h"
#include "base/mem.h"
#include "repl/quorum.h"
#include "server/node_internal.h"

/* ---- the metadata ---- */

static char *metadata_text(struct node *node, const char *one)
{
    return mem_printf(
        "%s/__cluster_metadata-0 is empty, but the log folders hold partitions (as %s): the "
        "metadata was lost or damaged, and without it they belong to no topic. Put the metadata "
        "back from a copy; to begin anew without them move their folders elsewhere",
        log_dir_path(log_dirs_metadata(node->context.log_dirs)), one);
}

char *node_metadata_lost(struct node *node)
{
    struct log_dirs *dirs = node->context.log_dirs;
    if (quorum_has_history(node->options.io, slice_str(log_dir_path(log_dirs_metadata(dirs)))))
        return NULL;
    char *partition = log_dirs_find_partition(dirs);
    char *text = partition ? metadata_text(node, partition) : NULL;
    mem_free(partition);
    return text;
}

static void note_one(void *data, struct log *log)
{
    const char **one = data;
    *one = log_path(log);
}

char *node_metadata_damaged(struct node *node)
{
    struct meta_image *image = quorum_image_newest(node->context.quorum);
    bool is_new = meta_image_metadata_version(image) < 0;
    meta_image_unref(image);
    const char *one = NULL;
    if (is_new)
        log_dirs_each(node->context.log_dirs, note_one, &one);
    return one ? metadata_text(node, one) : NULL;
}

/* ---- a folder ---- */

/* Whether the partition's directory is one of this node's, or, where that is not known or has
 * changed, its folder is in one. */
static bool has_place(struct node *node, const struct meta_topic *topic, int32_t index)
{
    struct log_dirs *dirs = node->context.log_dirs;
    struct uuid directory =
        meta_partition_directory(topic->partitions[index], node->context.node_id);
    bool found = false;
    for (int i = 0; i < log_dirs_count(dirs) && !found; i++) {
        const struct log_dir *dir = log_dirs_at(dirs, i);
        char *path = mem_printf("%s/%.*s-%d", log_dir_path(dir), SLICE_FMT(topic->name), index);
        struct io_stat stat;
        found = uuid_eq(log_dir_id(dir), &directory) || !io_stat(node->options.io, path, &stat);
        mem_free(path);
    }
    return found;
}

static char *find_lost(struct node *node, const struct meta_image *image, const char *new_path)
{
    META_IMAGE_FOREACH_TOPIC(topic, image)
    {
        for (int32_t i = 0; i < topic->partition_count; i++) {
            const struct meta_partition *partition = topic->partitions[i];
            if (!partition || !meta_partition_has_replica(partition, node->context.node_id) ||
                has_place(node, topic, i))
                continue;
            return mem_printf(
                "No meta.properties found in %s, and %.*s-%d, which is on this node, lies in none "
                "of log.dirs: is a disk not mounted? If its folder is lost, and what was in it, "
                "klamm storage format --ignore-formatted makes a new one.",
                new_path, SLICE_FMT(topic->name), i);
        }
    }
    return NULL;
}

char *node_folder_lost(struct node *node)
{
    struct log_dirs *dirs = node->context.log_dirs;
    const char *new_path = NULL;
    for (int i = 0; i < log_dirs_count(dirs); i++) {
        if (!log_dir_online(log_dirs_at(dirs, i)))
            return NULL; /* it may be there; then nothing is made in its place */
        if (log_dir_is_new(log_dirs_at(dirs, i)))
            new_path = log_dir_path(log_dirs_at(dirs, i));
    }
    if (!new_path)
        return NULL;
    struct meta_image *image = quorum_image_newest(node->context.quorum);
    char *text = find_lost(node, image, new_path);
    meta_image_unref(image);
    return text;
}
