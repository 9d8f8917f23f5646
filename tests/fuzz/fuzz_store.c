/* Arbitrary bytes as the files of a partition's folder, or of the metadata log's: whatever lies on
 * the disk is opened, recovered or refused, and what opens can be read, looked through by time,
 * appended to, truncated and closed.
 *
 * Input: a byte of flags (1: clean shutdown; 2: a recovery point behind the first segment; 4: the
 * metadata log; 8: a second segment), then for each file but the last `uint16 size, bytes` (size
 * 0xffff: no such file), and the rest as the first segment. */
#include "fuzz.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "conf/config.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "record/builder.h"
#include "repl/quorum.h"
#include "store/checkpoint.h"
#include "store/log.h"
#include "store/log_dirs.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLEAN = 1, RECOVERED = 2, METADATA = 4, SECOND = 8 };

static char root[64];
static struct io *io;

static void put_file(const char *folder, const char *name, struct slice bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    ENSURE(fd >= 0);
    ENSURE(write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size);
    close(fd);
}

static void put_next(const char *folder, const char *name, struct slice *rest)
{
    if (rest->size < 2)
        return;
    size_t size = (size_t)(rest->data[0] | rest->data[1] << 8);
    *rest = slice_sub(*rest, 2, rest->size - 2);
    if (size == 0xffff)
        return;
    size = size < rest->size ? size : rest->size;
    put_file(folder, name, slice_sub(*rest, 0, size));
    *rest = slice_sub(*rest, size, rest->size - size);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    return ftw->level ? remove(path) : 0;
}

static void append_one(struct log *log)
{
    struct buf batch;
    struct builder builder;
    struct builder_options options = BUILDER_DEFAULTS;
    buf_init(&batch);
    builder_begin(&builder, &batch, &options);
    builder_append(&builder, 1000, SLICE_LIT("k"), SLICE_LIT("v"));
    struct log_appended appended;
    if (!builder_end(&builder)) {
        int64_t end = log_end(log);
        if (!log_append(log, LOG_CLIENT, 5, buf_slice(&batch), &appended))
            ENSURE_CMP(log_end(log), ==, end + 1);
    }
    buf_fini(&batch);
}

static void use(struct log *log)
{
    ENSURE_CMP(log_start(log), <=, log_end(log));
    struct buf out;
    buf_init(&out);
    int64_t next = log_start(log);
    for (int i = 0; i < 20; i++) {
        int64_t from = next;
        buf_clear(&out);
        if (log_read_copy(log, from, 65536, log_end(log), &out, &next) || next == from)
            break;
        ENSURE_CMP(next, >, from);
    }
    buf_fini(&out);
    append_one(log);
    (void)log_truncate_to(log, (log_start(log) + log_end(log)) / 2);
    append_one(log);
}

static void open_partition(uint8_t flags, struct slice rest)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/t-0", root);
    ENSURE(mkdir(folder, 0755) == 0);
    static const char *const names[] = {
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000000.txnindex",
        "00000000000000000000.snapshot",
        "00000000000000000003.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        put_next(folder, names[i], &rest);
    if (flags & SECOND)
        put_next(folder, "00000000000000000003.log", &rest);
    put_file(folder, "00000000000000000000.log", rest);
    struct log_open_options options = {.io = io,
                                       .path = folder,
                                       .topic = SLICE_LIT("t"),
                                       .recovery_point = flags & RECOVERED ? 3 : 0,
                                       .clean = flags & CLEAN};
    log_config_init(&options.config);
    struct log *log;
    if (log_open(&options, &log))
        return;
    use(log);
    (void)log_close(log, false);
    log_free(log);
    /* What was closed opens again, with the same end. */
    options.clean = true;
    if (!log_open(&options, &log)) {
        ENSURE_CMP(log_start(log), <=, log_end(log));
        log_free(log);
    }
}

static void published(void *context, const struct meta_image *old, const struct meta_image *new)
{
    (void)context;
    (void)old;
    (void)new;
}

static struct config *config;

static void open_metadata(struct slice rest)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/__cluster_metadata-0", root);
    ENSURE(mkdir(folder, 0755) == 0);
    put_next(root, "meta.properties", &rest);
    put_next(folder, "quorum-state", &rest);
    put_next(folder, "00000000000000000000-0000000000.checkpoint", &rest);
    put_next(folder, "00000000000000000003-0000000001.checkpoint", &rest);
    put_next(folder, "leader-epoch-checkpoint", &rest);
    put_next(folder, "partition.metadata", &rest);
    put_file(folder, "00000000000000000000.log", rest);
    struct log_meta meta;
    (void)log_meta_read(io, root, &meta);
    struct loop *loop = loop_start(io, "fuzz");
    struct quorum_options options = {.io = io,
                                     .loop = loop,
                                     .config = config,
                                     .cluster_id = SLICE_LIT("c"),
                                     .directory_id = {{1}},
                                     .log_dir = slice_str(root),
                                     .subscriber = {published, NULL}};
    struct quorum *quorum;
    char *text = NULL;
    if (quorum_open(&options, &quorum, &text) == ERR_NONE)
        quorum_close(quorum);
    mem_free(text);
    loop_stop(loop);
}

static void open_checkpoints(struct slice rest)
{
    static const char *const names[] = {CHECKPOINT_HIGH_WATERMARK, CHECKPOINT_CLEANER};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct checkpoint checkpoint;
        put_file(root, names[i], rest);
        checkpoint_init(&checkpoint);
        int64_t offset;
        if (!checkpoint_read(&checkpoint, io, root, names[i]))
            (void)checkpoint_get(&checkpoint, SLICE_LIT("t"), 0, &offset);
        checkpoint_fini(&checkpoint);
    }
}

static void begin(void)
{
    static const char text[] = "process.roles=broker,controller\nnode.id=1\n"
                               "controller.quorum.voters=1@127.0.0.1:9093\n"
                               "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
                               "controller.listener.names=CONTROLLER\nlog.dirs=/nowhere\n";
    struct properties properties;
    int line;
    char *message = NULL;
    properties_init(&properties);
    ENSURE(!properties_parse(&properties, slice_str(text), &line));
    ENSURE(!config_new(&properties, &config, &message));
    properties_fini(&properties);
    snprintf(root, sizeof root, "%s/klamm-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ENSURE(mkdtemp(root));
    io = io_linux_new();
    for (int module = 0; module < DIAG_MODULE_COUNT; module++)
        diag_set_level((enum diag_module)module, DIAG_FATAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (!io)
        begin();
    struct slice rest = slice_of(data + 1, size - 1);
    open_checkpoints(rest);
    if (data[0] & METADATA)
        open_metadata(rest);
    else
        open_partition(data[0], rest);
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
