/* cleaner-offset-checkpoint: up to which offset each log was cleaned, in Kafka's format. Written
 * from the table of logs, so those of deleted partitions go and a log that moved to another folder
 * is named there. On a worker; one at a time (cleaner.c sees to that). */
#include "store/cleaner_internal.h"

#include "base/crc32c.h"
#include "os/diag.h"

/* Names and offsets are read while the table stands still. A log's own lock is taken for each. */
static void fill(struct log_dir *dir, struct checkpoint *checkpoint)
{
    struct log_dirs *dirs = dir->dirs;
    lock_take(&dirs->table_lock);
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (log->dir != dir || log->future)
            continue;
        struct lock *lock = log->lock;
        if (lock)
            lock_take(lock);
        if (log->first_dirty >= 0)
            checkpoint_put(checkpoint, log_topic(log), log->partition, log->first_dirty);
        if (lock)
            lock_release(lock);
    }
    lock_release(&dirs->table_lock);
}

static void write_one(struct log_dir *dir)
{
    struct checkpoint checkpoint;
    checkpoint_init(&checkpoint);
    fill(dir, &checkpoint);
    struct slice text = buf_slice(&checkpoint.text);
    uint32_t crc = crc32c(1, text.data, text.size);
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
