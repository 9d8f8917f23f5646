/* Metadata batches to images; see loader.h. States: no transaction -> (Begin) open -> (End) no
 * transaction, its records in the image; open -> (Abort) no transaction, its records dropped.
 * A second Begin, or an End or Abort without Begin, is corruption, as in Kafka. */
#include "meta/loader.h"

#include "base/cursor.h"

enum { KEY_BEGIN = 23, KEY_END = 24, KEY_ABORT = 25 };

void meta_loader_init(struct meta_loader *loader, const struct meta_image *base)
{
    *loader = (struct meta_loader){.image = meta_image_ref(base), .transaction_offset = -1};
    loader->last = *meta_image_provenance(base);
}

void meta_loader_fini(struct meta_loader *loader)
{
    meta_edit_free(loader->edit);
    meta_image_unref(loader->image);
    loader->edit = NULL;
    loader->image = NULL;
}

static int key_of(struct slice payload)
{
    struct cursor c = cursor_of(payload);
    cursor_uvarint(&c);
    uint32_t key = cursor_uvarint(&c);
    return c.failed || key > INT16_MAX ? -1 : (int)key;
}

/* Moves the collected records into the image. */
static bool settle(struct meta_loader *loader)
{
    if (!loader->edit)
        return false;
    struct meta_image *next = meta_edit_image(loader->edit, loader->last);
    meta_edit_free(loader->edit);
    loader->edit = NULL;
    meta_image_unref(loader->image);
    loader->image = next;
    return true;
}

static enum err transaction_step(struct meta_loader *loader, int key, int64_t offset,
                                 struct arena *arena, struct slice *ret_text)
{
    bool open = loader->transaction_offset >= 0;
    if (open == (key == KEY_BEGIN)) {
        if (ret_text)
            *ret_text = arena_printf(arena, "a metadata transaction %s at offset %lld although %s",
                                     key == KEY_BEGIN ? "begins" : "ends", (long long)offset,
                                     open ? "one is open" : "none is open");
        return ERR_CORRUPT;
    }
    if (key == KEY_BEGIN) {
        settle(loader);
        loader->transaction_offset = offset;
        return ERR_NONE;
    }
    if (key == KEY_ABORT) {
        meta_edit_free(loader->edit);
        loader->edit = NULL;
    }
    loader->transaction_offset = -1;
    return ERR_NONE;
}

enum err meta_loader_record(struct meta_loader *loader, struct slice payload,
                            struct meta_provenance at, struct arena *arena, struct slice *ret_text)
{
    int key = key_of(payload);
    enum err e = ERR_NONE;
    if (key == KEY_BEGIN || key == KEY_END || key == KEY_ABORT)
        e = transaction_step(loader, key, at.offset, arena, ret_text);
    if (e != ERR_NONE)
        return e;
    if (!loader->edit)
        loader->edit = meta_edit_new(loader->image);
    e = meta_edit_replay(loader->edit, payload, arena, ret_text);
    if (e == ERR_NONE)
        loader->last = at;
    return e;
}

bool meta_loader_batch_end(struct meta_loader *loader)
{
    return loader->transaction_offset < 0 && settle(loader);
}
