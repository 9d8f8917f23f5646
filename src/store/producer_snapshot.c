/* Encoding and files of producer snapshots, byte for byte Kafka's: int16 version 1, CRC-32C of what
 * follows it, int32 count, 46 bytes for each producer. Only the newest of the remembered batches is
 * kept on disk. A torn or damaged file is recognised by its CRC and an older one is used, so the
 * files are synced only with the flush that moves the recovery point past them. Under the log's
 * lock, or recovery. */
#include "store/producer_snapshot.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/disk_file.h"

enum { VERSION = 1, HEADER_SIZE = 10, CRC_FROM = 6, ENTRY_SIZE = 46 };
#define FILE_SIZE_MAX ((size_t)1 << 31)

static void encode(const struct producer_state *state, struct buf *out)
{
    size_t start = out->size;
    uint32_t count = producer_state_count(state);
    buf_put_i16(out, VERSION);
    buf_put_i32(out, 0);
    buf_put_i32(out, (int32_t)count);
    for (uint32_t i = 0; i < count; i++) {
        const struct producer *producer = producer_state_at(state, i);
        struct producer_batch last = {.sequence_last = -1, .offset_last = -1};
        if (producer->batch_count)
            last = producer->batches[producer->batch_count - 1];
        buf_put_i64(out, producer->id);
        buf_put_i16(out, producer->epoch);
        buf_put_i32(out, last.sequence_last);
        buf_put_i64(out, last.offset_last);
        buf_put_i32(out, last.offset_delta);
        buf_put_i64(out, producer->last_timestamp);
        buf_put_i32(out, producer->coordinator_epoch);
        buf_put_i64(out, producer->txn_offset_first);
    }
    uint32_t crc = crc32c(0, out->data + start + CRC_FROM, out->size - start - CRC_FROM);
    be_put_u32(out->data + start + 2, crc);
}

static struct producer decode_entry(struct cursor *c)
{
    struct producer producer = {.id = cursor_i64(c), .epoch = cursor_i16(c)};
    struct producer_batch last;
    last.sequence_last = cursor_i32(c);
    last.offset_last = cursor_i64(c);
    last.offset_delta = cursor_i32(c);
    producer.last_timestamp = last.timestamp = cursor_i64(c);
    producer.coordinator_epoch = cursor_i32(c);
    producer.txn_offset_first = cursor_i64(c);
    if (last.offset_last >= 0) {
        producer.batches[0] = last;
        producer.batch_count = 1;
    }
    return producer;
}

enum err producer_snapshot_decode(struct slice bytes, int64_t now_ms, int64_t expiry_ms,
                                  struct producer_state *state)
{
    producer_state_clear(state);
    struct cursor c = cursor_of(bytes);
    int16_t version = cursor_i16(&c);
    uint32_t crc = (uint32_t)cursor_i32(&c);
    int32_t count = cursor_i32(&c);
    if (c.failed || version != VERSION || count < 0 ||
        cursor_left(&c) != (size_t)count * ENTRY_SIZE ||
        crc != crc32c(0, bytes.data + CRC_FROM, bytes.size - CRC_FROM))
        return ERR_CORRUPT;
    for (int32_t i = 0; i < count; i++) {
        struct producer producer = decode_entry(&c);
        if (producer.txn_offset_first >= 0 || now_ms - producer.last_timestamp < expiry_ms)
            producer_state_put(state, &producer);
    }
    return ERR_NONE;
}

static char *path_of(const char *folder, int64_t offset)
{
    return mem_printf("%s/%020lld.snapshot", folder, (long long)offset);
}

enum err producer_snapshot_write(struct io *io, const char *folder, int64_t offset,
                                 const struct producer_state *state)
{
    struct buf bytes;
    buf_init(&bytes);
    encode(state, &bytes);
    char *path = path_of(folder, offset);
    int fd;
    enum err err = io_open(io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd);
    if (!err) {
        err = io_pwrite(io, fd, bytes.data, bytes.size, 0);
        io_close(io, fd);
        if (err)
            io_unlink(io, path);
    }
    mem_free(path);
    buf_fini(&bytes);
    return err;
}

enum err producer_snapshot_read(struct io *io, const char *folder, int64_t offset, int64_t now_ms,
                                int64_t expiry_ms, struct producer_state *state)
{
    struct buf bytes;
    buf_init(&bytes);
    char *path = path_of(folder, offset);
    enum err err = disk_file_read(io, path, FILE_SIZE_MAX, &bytes);
    mem_free(path);
    if (!err)
        err = producer_snapshot_decode(buf_slice(&bytes), now_ms, expiry_ms, state);
    else if (err == ERR_TOO_LARGE)
        err = ERR_CORRUPT;
    buf_fini(&bytes);
    return err;
}

enum err producer_snapshot_delete(struct io *io, const char *folder, int64_t offset)
{
    char *path = path_of(folder, offset);
    enum err err = io_unlink(io, path);
    mem_free(path);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}
