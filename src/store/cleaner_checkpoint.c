/* cleaner-offset-checkpoint: up to which offset each log was cleaned, in Kafka's format. Written
 * from the table of logs, so those of deleted partitions go and a log that moved to another folder
 * is named there. On a worker; one at a time (cleaner.c sees to that). */
#include "store/cleaner_internal.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "os/diag.h"

static void note(struct log *log, void *context)
{
    if (!log->future && log->first_dirty >= 0)
        checkpoint_put(context, log_topic(log), log->partition, log->first_dirty);
}

static bool has_file(const struct log_dir *dir)
{
    struct io_stat stat;
    char *path = log_dir_file(dir, CHECKPOINT_CLEANER);
    bool there = io_stat(dir->dirs->io, path, &stat) != ERR_NOT_FOUND;
    mem_free(path);
    return there;
}

static void write_one(struct log_dir *dir)
{
    struct checkpoint checkpoint;
    checkpoint_init(&checkpoint);
    log_walk_all(dir, note, &checkpoint);
    struct slice text = buf_slice(&checkpoint.text);
    uint32_t crc = crc32c(1, text.data, text.size);
    if (crc != dir->cleaned_crc && checkpoint.count == 0 && !has_file(dir))
        dir->cleaned_crc = crc; /* the same as an empty one: nothing wakes an idle node's disk */
    if (crc != dir->cleaned_crc) {
        enum err err =
            checkpoint_write(&checkpoint, dir->dirs->io, dir->path, CHECKPOINT_CLEANER, true);
        if (!err)
            dir->cleaned_crc = crc;
        else if (log_dir_check(dir, err, "write " CHECKPOINT_CLEANER) == ERR_DISK_FULL)
            diag(DIAG_STORE, DIAG_DEBUG, "%s/%s was not written: the disk is full", dir->path,
                 CHECKPOINT_CLEANER);
    }
    checkpoint_fini(&checkpoint);
}

void cleaner_write_checkpoints(struct log_dirs *dirs)
{
    for (int i = 0; i < dirs->dir_count; i++)
        if (log_dir_online(dirs->dirs[i]))
            write_one(dirs->dirs[i]);
}
