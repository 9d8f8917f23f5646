/* partition.metadata as Kafka writes it: "version: 0\ntopic_id: ID", no LF at the end (one is
 * accepted). Written once, when the partition is made. Any thread. */
#include "store/partition_meta.h"

#include "base/buf.h"
#include "base/mem.h"
#include "store/disk_file.h"

enum { FILE_SIZE_MAX = 4096 };

static enum err parse(struct slice text, struct uuid *ret_id)
{
    struct uuid id = UUID_ZERO;
    bool version = false, found = false;
    struct slice line, key, value;
    while (slice_next_part(&text, '\n', &line)) {
        if (!slice_cut(line, ':', &key, &value))
            continue;
        key = slice_trim(key);
        value = slice_trim(value);
        if (slice_eq_str(key, "version"))
            version = slice_eq_str(value, "0");
        else if (slice_eq_str(key, "topic_id"))
            found = uuid_parse(value, &id);
    }
    if (!version || !found || uuid_is_zero(&id))
        return ERR_CORRUPT;
    *ret_id = id;
    return ERR_NONE;
}

enum err partition_meta_read(struct io *io, const char *folder, struct uuid *ret_id)
{
    struct buf text;
    buf_init(&text);
    char *path = mem_printf("%s/partition.metadata", folder);
    enum err err = disk_file_read(io, path, FILE_SIZE_MAX, &text);
    mem_free(path);
    if (!err)
        err = parse(buf_slice(&text), ret_id);
    else if (err == ERR_TOO_LARGE)
        err = ERR_CORRUPT;
    buf_fini(&text);
    return err;
}

enum err partition_meta_write(struct io *io, const char *folder, const struct uuid *id)
{
    char text[UUID_TEXT_SIZE + 1];
    char *content = mem_printf("version: 0\ntopic_id: %s", uuid_format(id, text));
    char *path = mem_printf("%s/partition.metadata", folder);
    /* Not synced: an empty file after a power cut is written again from the metadata. */
    enum err err = disk_file_replace(io, path, slice_str(content), false);
    mem_free(path);
    mem_free(content);
    return err;
}
