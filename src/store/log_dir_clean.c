/* The clean shutdown file of a log folder: {"version":0,"brokerEpoch":N}. Taken away at start,
 * before any log is opened for writing; written last at a clean stop. */
#include "store/log_dirs_internal.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/diag.h"
#include "store/disk_file.h"

enum { FILE_SIZE_MAX = 4096 };

/* The number after "brokerEpoch": ; -1 when it is not there (older nodes wrote an empty file). */
static int64_t parse_epoch(struct slice text)
{
    static const char key[] = "\"brokerEpoch\"";
    const uint8_t *at = text.size ? memmem(text.data, text.size, key, sizeof key - 1) : NULL;
    if (!at)
        return -1;
    at += sizeof key - 1;
    const uint8_t *end = text.data + text.size;
    while (at < end && (*at == ':' || *at == ' '))
        at++;
    const uint8_t *digits = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    int64_t epoch;
    return slice_to_i64(slice_of(digits, (size_t)(at - digits)), 0, INT64_MAX, &epoch) ? epoch : -1;
}

void log_dir_take_clean_file(struct log_dir *dir)
{
    char *path = log_dir_file(dir, LOG_DIR_CLEAN_FILE);
    struct buf text;
    buf_init(&text);
    dir->broker_epoch = -1;
    enum err err = disk_file_read(dir->dirs->io, path, FILE_SIZE_MAX, &text);
    if (!err) {
        dir->clean = true;
        dir->broker_epoch = parse_epoch(buf_slice(&text));
        /* When it cannot be removed, a crash would later be taken for a clean stop. */
        err = io_unlink(dir->dirs->io, path);
        if (!err)
            err = io_sync_dir(dir->dirs->io, dir->path);
        log_dir_check(dir, err, "remove " LOG_DIR_CLEAN_FILE);
    }
    buf_fini(&text);
    mem_free(path);
}

enum err log_dir_write_clean_file(struct log_dir *dir, int64_t broker_epoch)
{
    char *path = log_dir_file(dir, LOG_DIR_CLEAN_FILE);
    char *text = mem_printf("{\"version\":0,\"brokerEpoch\":%lld}", (long long)broker_epoch);
    enum err err = disk_file_replace(dir->dirs->io, path, slice_str(text), true);
    mem_free(text);
    mem_free(path);
    return err;
}
