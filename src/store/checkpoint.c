/* Checkpoint files as Kafka's CheckpointFile writes them: "0\n", the count, one line for each
 * entry. Topic names hold no blanks. Loading runs on start, writing on workers; the holder's lock.
 */
#include "store/checkpoint.h"

#include "base/mem.h"
#include "store/disk_file.h"

#include <stdio.h>

enum { FILE_SIZE_MAX = 512 * 1024 * 1024, KEY_SIZE_MAX = 300, FIELDS_MAX = 3 };

void checkpoint_init(struct checkpoint *checkpoint)
{
    *checkpoint = (struct checkpoint){0};
    buf_init(&checkpoint->text);
    map_init(&checkpoint->entries);
}

void checkpoint_fini(struct checkpoint *checkpoint)
{
    buf_fini(&checkpoint->text);
    map_fini(&checkpoint->entries);
    mem_free(checkpoint->offsets);
    checkpoint_init(checkpoint);
}

/* Cuts the next line (without its LF) off `text`; false when there is none. */
static bool next_line(struct slice *text, struct slice *ret_line)
{
    return text->size && slice_next_part(text, '\n', ret_line);
}

/* Splits at single blanks; false unless there are exactly `count` fields. */
static bool split(struct slice line, int count, struct slice *fields)
{
    for (int i = 0; i < count; i++) {
        bool more = slice_cut(line, ' ', &fields[i], &line);
        if (!more)
            fields[i] = line;
        if (!fields[i].size || more != (i < count - 1))
            return false;
    }
    return true;
}

enum err checkpoint_parse(struct slice text, int fields,
                          bool (*line)(void *context, const struct slice *field, uint32_t index),
                          void *context)
{
    struct slice at;
    int64_t number;
    if (!next_line(&text, &at) || !slice_to_i64(at, 0, 0, &number))
        return ERR_CORRUPT;
    if (!next_line(&text, &at) || !slice_to_i64(at, 0, UINT32_MAX, &number))
        return ERR_CORRUPT;
    uint32_t index = 0;
    while (next_line(&text, &at)) {
        struct slice field[FIELDS_MAX];
        if (!split(at, fields, field) || index == number || !line(context, field, index))
            return ERR_CORRUPT;
        index++;
    }
    return index == number ? ERR_NONE : ERR_CORRUPT;
}

static bool count_line(void *context, const struct slice *field, uint32_t index)
{
    (void)field;
    *(uint32_t *)context = index + 1;
    return true;
}

static bool add_line(void *context, const struct slice *field, uint32_t index)
{
    struct checkpoint *checkpoint = context;
    int64_t partition;
    if (!slice_to_i64(field[1], 0, INT32_MAX, &partition) ||
        !slice_to_i64(field[2], 0, INT64_MAX, &checkpoint->offsets[index]))
        return false;
    /* The key is a view: topic, blank and partition lie side by side in the text. */
    struct slice key =
        slice_of(field[0].data, (size_t)(field[1].data + field[1].size - field[0].data));
    map_put(&checkpoint->entries, key, &checkpoint->offsets[index]);
    return true;
}

enum err checkpoint_read(struct checkpoint *checkpoint, struct io *io, const char *folder,
                         const char *name)
{
    char *path = mem_printf("%s/%s", folder, name);
    enum err err = disk_file_read(io, path, FILE_SIZE_MAX, &checkpoint->text);
    mem_free(path);
    if (err == ERR_NOT_FOUND)
        return ERR_NONE;
    if (err)
        return err == ERR_TOO_LARGE ? ERR_CORRUPT : err;
    /* Kafka makes the files empty and fills them later; one that was killed leaves them so. */
    if (!checkpoint->text.size)
        return ERR_NONE;
    uint32_t count = 0;
    err = checkpoint_parse(buf_slice(&checkpoint->text), 3, count_line, &count);
    if (!err && count) {
        checkpoint->offsets = mem_array(count, sizeof *checkpoint->offsets);
        checkpoint->count = count;
        err = checkpoint_parse(buf_slice(&checkpoint->text), 3, add_line, checkpoint);
    }
    if (err)
        checkpoint_fini(checkpoint);
    return err;
}

bool checkpoint_get(const struct checkpoint *checkpoint, struct slice topic, int32_t partition,
                    int64_t *ret_offset)
{
    if (!map_count(&checkpoint->entries))
        return false;
    char key[KEY_SIZE_MAX];
    int size = snprintf(key, sizeof key, "%.*s %d", SLICE_FMT(topic), partition);
    if (size < 0 || size >= (int)sizeof key)
        return false;
    const int64_t *offset = map_get(&checkpoint->entries, slice_of(key, (size_t)size));
    if (!offset)
        return false;
    *ret_offset = *offset;
    return true;
}

void checkpoint_put(struct checkpoint *checkpoint, struct slice topic, int32_t partition,
                    int64_t offset)
{
    buf_printf(&checkpoint->text, "%.*s %d %lld\n", SLICE_FMT(topic), partition, (long long)offset);
    checkpoint->count++;
}

enum err checkpoint_write(const struct checkpoint *checkpoint, struct io *io, const char *folder,
                          const char *name, bool sync)
{
    struct buf file;
    buf_init(&file);
    buf_printf(&file, "0\n%u\n", checkpoint->count);
    buf_put_slice(&file, buf_slice(&checkpoint->text));
    char *path = mem_printf("%s/%s", folder, name);
    enum err err = disk_file_replace(io, path, buf_slice(&file), sync);
    mem_free(path);
    buf_fini(&file);
    return err;
}
