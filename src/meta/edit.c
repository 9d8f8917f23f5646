/* Replay of metadata records into the next image: frames, dispatch, and the records that need few
 * words (features, configs, producer ids, kept records). Topics are in edit_topics.c, nodes in
 * edit_nodes.c. Called by the quorum driver under its lock (decisions), on its loop, and at start
 * for the log and its snapshot; any thread, one at a time for each edit.
 *
 * Begin, End and AbortTransactionRecord mean nothing here: whoever reads the log (meta/loader.h)
 * decides which records count. */
#include "meta/edit.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "meta/edit_data.h"
#include "wire_metadata_records.h"

#include <stdarg.h>
#include <stdio.h>

enum { FRAME_VERSION = 1 };

/* ---- helpers ----------------------------------------------------------------------------------
 */

enum err edit_corrupt(struct meta_edit *edit, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    edit->text = arena_dup(edit->arena, slice_str(line));
    return ERR_CORRUPT;
}

void edit_put(struct pmap **root, const struct pmap_type *type, struct slice key, void *object)
{
    struct pmap *next = pmap_put(*root, type, key, object);
    pmap_unref(*root, type);
    type->value_unref(object);
    *root = next;
}

void edit_remove(struct pmap **root, const struct pmap_type *type, struct slice key)
{
    struct pmap *next = pmap_remove(*root, type, key);
    pmap_unref(*root, type);
    *root = next;
}

/* ---- features, configs, producer ids ----------------------------------------------------------
 */

static enum err replay_feature(struct meta_edit *edit, const void *record)
{
    const struct feature_level_record *r = record;
    struct pmap **root = &edit->image->features;
    bool is_metadata = slice_eq(r->name, SLICE_LIT("metadata.version"));
    if (is_metadata &&
        (r->feature_level < META_VERSION_MIN || r->feature_level > META_VERSION_KNOWN_MAX))
        return edit_corrupt(edit,
                            "metadata.version %d is not supported: this release knows %d to %d",
                            r->feature_level, META_VERSION_MIN, META_VERSION_LATEST);
    if (r->feature_level == 0) {
        edit_remove(root, &meta_object_type, r->name);
        return ERR_NONE;
    }
    struct meta_feature_level *level = meta_object_new(sizeof *level);
    level->level = r->feature_level;
    edit_put(root, &meta_object_type, r->name, level);
    return ERR_NONE;
}

/* A config object with room for `count` entries and `text_size` bytes. */
static struct meta_config *config_object_new(int8_t type, struct slice resource, int32_t count,
                                             size_t text_size, struct conf_pair **ret_entries,
                                             uint8_t **ret_texts)
{
    size_t entries = (size_t)count * sizeof(struct conf_pair);
    struct meta_config *config =
        meta_object_new(sizeof *config + entries + resource.size + text_size + 1);
    *ret_entries = (struct conf_pair *)(config + 1);
    uint8_t *texts = (uint8_t *)(config + 1) + entries;
    if (resource.size)
        memcpy(texts, resource.data, resource.size);
    config->type = type;
    config->resource = slice_of(texts, resource.size);
    config->entry_count = count;
    config->entries = *ret_entries;
    *ret_texts = texts + resource.size;
    return config;
}

static struct slice put_text(uint8_t **at, struct slice text)
{
    struct slice copy = slice_of(*at, text.size);
    if (text.size)
        memcpy(*at, text.data, text.size);
    *at += text.size;
    return copy;
}

/* The old entries with `name` set to `value` (null: removed), in order. NULL when none is left. */
static struct meta_config *config_with(const struct meta_config *old, int8_t type,
                                       struct slice resource, struct slice name, struct slice value)
{
    int32_t kept = 0;
    size_t size = name.size + value.size;
    for (int32_t i = 0; old && i < old->entry_count; i++) {
        if (slice_eq(old->entries[i].name, name))
            continue;
        kept++;
        size += old->entries[i].name.size + old->entries[i].value.size;
    }
    int32_t count = kept + !slice_is_null(value);
    if (count == 0)
        return NULL;
    struct conf_pair *entries;
    uint8_t *texts;
    struct meta_config *config = config_object_new(type, resource, count, size, &entries, &texts);
    int32_t at = 0;
    bool placed = slice_is_null(value);
    for (int32_t i = 0; old && i < old->entry_count; i++) {
        int order = slice_cmp(old->entries[i].name, name);
        if (order == 0)
            continue;
        if (order > 0 && !placed) {
            entries[at].name = put_text(&texts, name);
            entries[at++].value = put_text(&texts, value);
            placed = true;
        }
        entries[at].name = put_text(&texts, old->entries[i].name);
        entries[at++].value = put_text(&texts, old->entries[i].value);
    }
    if (!placed) {
        entries[at].name = put_text(&texts, name);
        entries[at].value = put_text(&texts, value);
    }
    return config;
}

static enum err replay_config(struct meta_edit *edit, const void *record)
{
    const struct config_record *r = record;
    struct pmap **root = &edit->image->configs;
    const struct meta_config *old =
        meta_image_config(edit->image, r->resource_type, r->resource_name);
    struct meta_config *config =
        config_with(old, r->resource_type, r->resource_name, r->name, r->value);
    struct buf key;
    meta_config_key(&key, r->resource_type, r->resource_name);
    if (config)
        edit_put(root, &meta_object_type, buf_slice(&key), config);
    else
        edit_remove(root, &meta_object_type, buf_slice(&key));
    buf_fini(&key);
    return ERR_NONE;
}

static enum err replay_producer_ids(struct meta_edit *edit, const void *record)
{
    const struct producer_ids_record *r = record;
    if (r->next_producer_id < edit->image->next_producer_id)
        return edit_corrupt(edit, "ProducerIdsRecord goes back from %lld to %lld",
                            (long long)edit->image->next_producer_id,
                            (long long)r->next_producer_id);
    edit->image->next_producer_id = r->next_producer_id;
    edit->image->producer_ids_broker = r->broker_id;
    edit->image->producer_ids_epoch = r->broker_epoch;
    return ERR_NONE;
}

static enum err replay_nothing(struct meta_edit *edit, const void *record)
{
    (void)edit;
    (void)record;
    return ERR_NONE;
}

/* ---- kept records -----------------------------------------------------------------------------
 */

static void blob_put(struct meta_edit *edit, enum meta_blob_kind kind, struct slice key,
                     struct slice payload)
{
    struct meta_blob *blob = meta_object_new(sizeof *blob + payload.size);
    memcpy(blob + 1, payload.data, payload.size);
    blob->payload = slice_of(blob + 1, payload.size);
    edit_put(&edit->image->blobs[kind], &meta_object_type, key, blob);
}

static void blob_remove(struct meta_edit *edit, enum meta_blob_kind kind, struct slice key)
{
    edit_remove(&edit->image->blobs[kind], &meta_object_type, key);
}

/* Entity types and names, each with its length, then the quota's key: equal only for the same
 * quota of the same entity. Kafka keeps one value for each. */
static void quota_key(const struct client_quota_record *r, struct buf *key)
{
    for (int32_t i = 0; i < r->entity_count; i++) {
        struct slice name = r->entity[i].entity_name;
        buf_put_i32(key, (int32_t)r->entity[i].entity_type.size);
        buf_put_slice(key, r->entity[i].entity_type);
        buf_put_i32(key, slice_is_null(name) ? -1 : (int32_t)name.size);
        buf_put_slice(key, name);
    }
    buf_put_i32(key, -2);
    buf_put_slice(key, r->key);
}

static void scram_key(int8_t mechanism, struct slice name, struct buf *key)
{
    buf_put_i8(key, mechanism);
    buf_put_slice(key, name);
}

/* Records kept byte for byte, under the key that a later record replaces or removes them by. */
static enum err replay_kept(struct meta_edit *edit, int key, const void *record,
                            struct slice payload)
{
    struct buf name;
    buf_init(&name);
    const struct access_control_entry_record *acl = record;
    const struct remove_access_control_entry_record *acl_gone = record;
    const struct client_quota_record *quota = record;
    const struct delegation_token_record *token = record;
    const struct remove_delegation_token_record *token_gone = record;
    const struct user_scram_credential_record *scram = record;
    const struct remove_user_scram_credential_record *scram_gone = record;
    switch (key) {
    case 18: blob_put(edit, META_BLOB_ACL, meta_uuid_key(&acl->id), payload); break;
    case 19: blob_remove(edit, META_BLOB_ACL, meta_uuid_key(&acl_gone->id)); break;
    case 14:
        quota_key(quota, &name);
        if (quota->remove)
            blob_remove(edit, META_BLOB_QUOTA, buf_slice(&name));
        else
            blob_put(edit, META_BLOB_QUOTA, buf_slice(&name), payload);
        break;
    case 10: blob_put(edit, META_BLOB_TOKEN, token->token_id, payload); break;
    case 26: blob_remove(edit, META_BLOB_TOKEN, token_gone->token_id); break;
    case 11:
        scram_key(scram->mechanism, scram->name, &name);
        blob_put(edit, META_BLOB_SCRAM, buf_slice(&name), payload);
        break;
    default: /* 22 */
        scram_key(scram_gone->mechanism, scram_gone->name, &name);
        blob_remove(edit, META_BLOB_SCRAM, buf_slice(&name));
        break;
    }
    buf_fini(&name);
    return ERR_NONE;
}

/* ---- dispatch ---------------------------------------------------------------------------------
 */

/* By record key; NULL with kept = false: no such record. */
static const struct {
    enum err (*replay)(struct meta_edit *edit, const void *record);
    bool kept;
} handlers[] = {
    [0] = {edit_register_broker, false},
    [1] = {edit_unregister_broker, false},
    [2] = {edit_topic_record, false},
    [3] = {edit_partition_record, false},
    [4] = {replay_config, false},
    [5] = {edit_partition_change, false},
    [7] = {edit_fence_broker, false},
    [8] = {edit_unfence_broker, false},
    [9] = {edit_remove_topic, false},
    [10] = {NULL, true},
    [11] = {NULL, true},
    [12] = {replay_feature, false},
    [14] = {NULL, true},
    [15] = {replay_producer_ids, false},
    [17] = {edit_broker_change, false},
    [18] = {NULL, true},
    [19] = {NULL, true},
    [20] = {replay_nothing, false}, /* NoOpRecord */
    [21] = {replay_nothing, false}, /* ZkMigrationStateRecord: no meaning since 4.0 */
    [22] = {NULL, true},
    [23] = {replay_nothing, false}, /* transactions: see the head comment */
    [24] = {replay_nothing, false},
    [25] = {replay_nothing, false},
    [26] = {NULL, true},
    [27] = {edit_register_controller, false},
    [28] = {edit_clear_elr, false},
    [29] = {edit_unregister_controller, false},
};

static enum err replay(struct meta_edit *edit, struct slice payload)
{
    struct cursor c = cursor_of(payload);
    uint32_t frame = cursor_uvarint(&c);
    uint32_t key = cursor_uvarint(&c);
    uint32_t version = cursor_uvarint(&c);
    if (c.failed || frame != FRAME_VERSION)
        return edit_corrupt(edit, "a metadata record of %zu bytes has no frame of version %d",
                            payload.size, FRAME_VERSION);
    if (key >= sizeof handlers / sizeof handlers[0] ||
        (!handlers[key].replay && !handlers[key].kept))
        return edit_corrupt(edit,
                            "metadata record type %u is unknown: was the log written by a "
                            "newer release?",
                            key);
    const struct wire_schema *schema =
        wire_schema_of_record(WIRE_METADATA_LOG, WIRE_METADATA, (int)key);
    if (!wire_schema_has(schema, (int)version))
        return edit_corrupt(edit,
                            "%s version %u is unknown: was the log written by a newer "
                            "release?",
                            wire_schema_name(schema), version);
    void *record = arena_alloc(edit->arena, wire_schema_size(schema));
    enum err e = wire_decode(schema, (int)version, &c, edit->arena, record);
    if (e != ERR_NONE || cursor_left(&c) != 0)
        return edit_corrupt(edit, "a %s version %u of %zu bytes cannot be read",
                            wire_schema_name(schema), version, payload.size);
    return handlers[key].kept ? replay_kept(edit, (int)key, record, payload)
                              : handlers[key].replay(edit, record);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct meta_edit *meta_edit_new(const struct meta_image *base)
{
    struct meta_edit *edit = mem_zalloc(sizeof *edit);
    edit->image = meta_image_copy(base);
    map_init(&edit->topics);
    map_init(&edit->names);
    return edit;
}

void meta_edit_free(struct meta_edit *edit)
{
    if (!edit)
        return;
    edit_topics_free(edit);
    meta_image_unref(edit->image);
    mem_free(edit);
}

enum err meta_edit_replay(struct meta_edit *edit, struct slice payload, struct arena *arena,
                          struct slice *ret_text)
{
    edit->arena = arena;
    edit->text = SLICE_NULL;
    enum err e = replay(edit, payload);
    if (e != ERR_NONE && ret_text)
        *ret_text = edit->text;
    return e;
}

struct meta_image *meta_edit_image(struct meta_edit *edit, struct meta_provenance provenance)
{
    edit_topics_flush(edit);
    struct meta_image *image = edit->image;
    edit->image = meta_image_copy(image);
    image->provenance = provenance;
    return image;
}
