/* .klamm-boot in each log folder: under which boot of the machine the folder was last opened, and
 * which producer ids may have lost epochs.
 *
 * A start that finds no clean shutdown file and another boot than the one noted (or none, or what
 * it cannot read) follows a power cut, or a folder that came here as a crash left it. Then
 * __transaction_state may have lost its end, and with it epochs that were given out and that
 * partitions still hold batches of: given out again, their new batches would pass for repetitions.
 * Producer ids do not suffer from it: their blocks are in the metadata log, which is synced before
 * an id is used. So such a start notes the next block's first id, and the transaction coordinator
 * gives no further epoch of an id below it (coord_config.producer_id_trusted). Unlike an offset in
 * __transaction_state this stays right when its records are compacted, moved or written anew.
 *
 *     0                                        version
 *     7d1f6c2e-...-4a90e0a1b2c3                the boot, "-" where the system does not tell
 *     3000                                     ids below are not trusted; 0 = all are
 *
 * All folders get the same: the highest of what they had and what this start adds. The file is
 * synced where it has something to keep, for a clean stop and a power cut may follow, after which
 * nobody would look again. A start with nothing to keep syncs nothing: what an interrupted write
 * leaves is another boot or no boot at all, and only asks for care once more. A full disk is no
 * reason not to start: the number holds in memory, and the clean stop writes it, or is none.
 *
 * In Apache Kafka's way it is not: that looks at folders in a log folder only. Called by loading
 * and stopping, on workers. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "store/disk_file.h"

#define BOOT_FILE    ".klamm-boot"
#define BOOT_UNKNOWN "-"
enum { FILE_SIZE_MAX = 4096 };

/* False unless it is as log_boot_write makes it. */
static bool parse(struct slice text, char ret_boot[IO_BOOT_ID_SIZE], int64_t *ret_trusted)
{
    struct slice version, boot, trusted;
    int64_t number;
    if (!slice_next_part(&text, '\n', &version) || !slice_eq_str(version, "0") ||
        !slice_next_part(&text, '\n', &boot) || !boot.size || boot.size >= IO_BOOT_ID_SIZE ||
        !slice_next_part(&text, '\n', &trusted) || slice_is_null(text) || text.size ||
        !slice_to_i64(trusted, 0, INT64_MAX, &number))
        return false;
    memcpy(ret_boot, boot.data, boot.size);
    ret_boot[boot.size] = 0;
    *ret_trusted = number;
    return true;
}

/* What the folder says; nothing of it when it cannot be read. */
static void read_boot(struct log_dir *dir, struct log_boot *ret_boot)
{
    *ret_boot = (struct log_boot){.id = ""};
    char *path = log_dir_file(dir, BOOT_FILE);
    struct buf text;
    buf_init(&text);
    enum err err = disk_file_read(dir->dirs->io, path, FILE_SIZE_MAX, &text);
    if (!err && !parse(buf_slice(&text), ret_boot->id, &ret_boot->producer_id_trusted))
        err = ERR_CORRUPT;
    ret_boot->damaged = err && err != ERR_NOT_FOUND;
    if (ret_boot->damaged && err != ERR_IO)
        diag(DIAG_STORE, DIAG_WARN, "%s cannot be understood and is left out of account", path);
    log_dir_check(dir, err, "read " BOOT_FILE);
    buf_fini(&text);
    mem_free(path);
}

enum err log_boot_write(struct log_dir *dir)
{
    struct log_boot *boot = &dir->boot;
    if (boot->written || !boot->id[0]) /* no log was loaded */
        return ERR_NONE;
    char *path = log_dir_file(dir, BOOT_FILE);
    char *text = mem_printf("0\n%s\n%lld\n", boot->id, (long long)boot->producer_id_trusted);
    enum err err =
        disk_file_replace(dir->dirs->io, path, slice_str(text), boot->producer_id_trusted > 0);
    boot->written = !err;
    if (err == ERR_DISK_FULL)
        diag(DIAG_STORE, DIAG_DEBUG, "%s was not written: the disk is full", path);
    mem_free(text);
    mem_free(path);
    return log_dir_check(dir, err, "write " BOOT_FILE);
}

/* Whether bytes written to the folder may be gone. */
static bool may_have_lost(const struct log_dir *dir, const struct log_boot *found, const char *now)
{
    /* An unknown boot equals none, not even itself. */
    bool same = strcmp(found->id, now) == 0 && strcmp(now, BOOT_UNKNOWN) != 0;
    return found->damaged || (!dir->clean && !same);
}

void log_boot_note(struct log_dirs *dirs, int64_t producer_id_next)
{
    char now[IO_BOOT_ID_SIZE];
    if (io_boot_id(dirs->io, now))
        memcpy(now, BOOT_UNKNOWN, sizeof BOOT_UNKNOWN);
    struct log_boot *found = mem_array((size_t)dirs->dir_count, sizeof *found);
    int64_t trusted = 0;
    for (int i = 0; i < dirs->dir_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (!log_dir_online(dir))
            continue;
        read_boot(dir, &found[i]);
        if (found[i].producer_id_trusted > trusted)
            trusted = found[i].producer_id_trusted;
        if (!may_have_lost(dir, &found[i], now) || producer_id_next <= trusted)
            continue;
        diag(DIAG_STORE, DIAG_INFO,
             "log folder %s was not stopped and the machine has started anew: epochs of producers "
             "may be lost, and transactional ids go on with new producer ids, from %lld on",
             dir->path, (long long)producer_id_next);
        trusted = producer_id_next;
    }
    for (int i = 0; i < dirs->dir_count; i++) {
        struct log_boot *boot = &dirs->dirs[i]->boot;
        memcpy(boot->id, now, sizeof now);
        boot->producer_id_trusted = trusted;
        boot->written = strcmp(found[i].id, now) == 0 && found[i].producer_id_trusted == trusted;
        if (log_dir_online(dirs->dirs[i]))
            log_boot_write(dirs->dirs[i]);
    }
    mem_free(found);
    dirs->producer_id_trusted = trusted;
}

int64_t log_dirs_producer_id_trusted(const struct log_dirs *dirs)
{
    return dirs->producer_id_trusted;
}
