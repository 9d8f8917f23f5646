/* One log folder: whether it is online, whether it has room, what its logs tell it. The hooks at
 * the end are called under a log's lock; they take only the folder's own. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

char *log_dir_file(const struct log_dir *dir, const char *name)
{
    return mem_printf("%s/%s", dir->path, name);
}

bool log_dir_parse_name(const char *name, struct slice *ret_topic, int32_t *ret_partition)
{
    const char *dash = strrchr(name, '-');
    int64_t partition;
    if (!dash || dash == name || !slice_to_i64(slice_str(dash + 1), 0, INT32_MAX, &partition) ||
        (dash[1] == '0' && dash[2]))
        return false;
    *ret_topic = slice_of(name, (size_t)(dash - name));
    *ret_partition = (int32_t)partition;
    return true;
}

bool log_dir_has_suffix(const char *name, const char *suffix)
{
    enum { HEX = 32 };
    size_t size = strlen(name), suffix_size = strlen(suffix);
    if (size < HEX + 2 + suffix_size || memcmp(name + size - suffix_size, suffix, suffix_size) != 0)
        return false;
    const char *hex = name + size - suffix_size - HEX;
    for (int i = 0; i < HEX; i++)
        if (!strchr("0123456789abcdef", hex[i]))
            return false;
    return hex[-1] == '.';
}

const char *log_dir_path(const struct log_dir *dir)
{
    return dir->path;
}

const struct uuid *log_dir_id(const struct log_dir *dir)
{
    return &dir->id;
}

bool log_dir_online(const struct log_dir *dir)
{
    return __atomic_load_n(&dir->online, __ATOMIC_ACQUIRE);
}

void log_dir_cordon(struct log_dir *dir, bool cordoned)
{
    __atomic_store_n(&dir->cordoned, cordoned, __ATOMIC_RELAXED);
}

bool log_dir_cordoned(const struct log_dir *dir)
{
    return __atomic_load_n(&dir->cordoned, __ATOMIC_RELAXED);
}

static void tell_failed(struct loop_task *task)
{
    struct log_dir *dir = LIST_ITEM(task, struct log_dir, failed_task);
    dir->dirs->options.failed(dir->dirs->options.failed_context, dir);
}

/* `err` is what the last call that failed gave, for its text. */
static void go_offline(struct log_dir *dir, enum err err, const char *what)
{
    if (!__atomic_exchange_n(&dir->online, 0, __ATOMIC_ACQ_REL))
        return;
    diag(DIAG_STORE, DIAG_ERROR,
         "log folder %s goes offline (%s: %s): its partitions are not served until the disk is "
         "mended and the node started again",
         dir->path, what, io_error_text(dir->dirs->io, err));
    if (!dir->dirs->options.failed || __atomic_exchange_n(&dir->failed_told, 1, __ATOMIC_ACQ_REL))
        return;
    dir->failed_task.run = tell_failed;
    __atomic_store_n(&dir->failed_waits, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&dir->dirs->telling, __ATOMIC_SEQ_CST))
        log_dir_tell(dir);
}

void log_dir_fail(struct log_dir *dir, const char *what)
{
    go_offline(dir, ERR_IO, what);
}

void log_dir_tell(struct log_dir *dir)
{
    if (__atomic_exchange_n(&dir->failed_waits, 0, __ATOMIC_SEQ_CST))
        loop_post(dir->dirs->options.failed_loop, &dir->failed_task);
}

enum err log_dir_check(struct log_dir *dir, enum err err, const char *what)
{
    if (err == ERR_IO)
        log_dir_fail(dir, what);
    return err;
}

enum err log_dir_check_there(struct log_dir *dir, enum err err, const char *what)
{
    if (err != ERR_NOT_FOUND)
        return log_dir_check(dir, err, what);
    go_offline(dir, err, what);
    return ERR_IO;
}

/* ---- space ------------------------------------------------------------------------------------
 */

static int64_t capped(int64_t reserve, int64_t total, int64_t part)
{
    return part && reserve > total / part ? total / part : reserve;
}

void log_dir_poll_space(struct log_dir *dir)
{
    struct io_space space;
    if (io_space(dir->dirs->io, dir->path, &space))
        return;
    const struct log_dirs_options *options = &dir->dirs->options;
    int64_t part = options->reserve_part;
    int64_t client = capped(options->reserve_client, space.total, part);
    int64_t coordinator = capped(options->reserve_coordinator, space.total, 4 * part);
    enum log_space state = space.free < coordinator ? LOG_SPACE_CRITICAL
                           : space.free < client    ? LOG_SPACE_LOW
                                                    : LOG_SPACE_OK;
    uint32_t before = __atomic_exchange_n(&dir->space_state, state, __ATOMIC_ACQ_REL);
    if (before != state)
        diag(DIAG_STORE, state ? DIAG_WARN : DIAG_INFO, "log folder %s has %lld bytes free: %s",
             dir->path, (long long)space.free,
             state == LOG_SPACE_OK    ? "all writes are accepted"
             : state == LOG_SPACE_LOW ? "produce is refused"
                                      : "only the metadata log is written");
    lock_take(&dir->lock);
    dir->space = space;
    dir->space_known = true;
    lock_release(&dir->lock);
}

int64_t log_dir_reserve(struct log_dir *dir)
{
    const struct log_dirs_options *options = &dir->dirs->options;
    struct io_space space;
    if (!log_dir_space(dir, &space))
        return 0;
    return __atomic_load_n(&dir->space_state, __ATOMIC_RELAXED) == LOG_SPACE_OK
               ? capped(options->reserve_client, space.total, options->reserve_part)
               : capped(options->reserve_coordinator, space.total, 4 * options->reserve_part);
}

bool log_dir_space(const struct log_dir *dir, struct io_space *ret_space)
{
    struct log_dir *locked = (struct log_dir *)(uintptr_t)dir;
    lock_take(&locked->lock);
    bool known = dir->space_known;
    if (known)
        *ret_space = dir->space;
    lock_release(&locked->lock);
    return known;
}

enum err log_dir_admits(const struct log_dir *dir, enum log_origin origin)
{
    uint32_t state = __atomic_load_n(&dir->space_state, __ATOMIC_RELAXED);
    switch (origin) {
    case LOG_CLIENT: return state >= LOG_SPACE_LOW ? ERR_DISK_FULL : ERR_NONE;
    case LOG_COORDINATOR:
    case LOG_REPLICA: return state >= LOG_SPACE_CRITICAL ? ERR_DISK_FULL : ERR_NONE;
    case LOG_RAFT_LEADER:
    case LOG_RAFT_FOLLOWER: break;
    }
    return ERR_NONE;
}

/* ---- hooks ------------------------------------------------------------------------------------
 */

struct file_cache *log_dir_cache(const struct log_dir *dir)
{
    return dir->dirs->cache;
}

void log_dir_mark_dirty(struct log_dir *dir, struct log *log)
{
    lock_take(&dir->lock);
    if (list_empty(&log->dirty_link))
        list_push_back(&dir->dirty, &log->dirty_link);
    lock_release(&dir->lock);
}

void log_dir_forget(struct log_dir *dir, struct log *log)
{
    lock_take(&dir->lock);
    list_remove(&log->dirty_link);
    lock_release(&dir->lock);
}

void log_dir_want_recovery_point(struct log_dir *dir)
{
    lock_take(&dir->lock);
    dir->recovery_wanted = true;
    lock_release(&dir->lock);
}

void log_dir_start_moved(struct log_dir *dir)
{
    lock_take(&dir->lock);
    dir->starts_moved = true;
    lock_release(&dir->lock);
}
