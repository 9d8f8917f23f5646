/* meta.properties: which cluster, node and folder this is. Java properties; 4.4 writes version 1
 * with cluster.id, node.id and directory.id, older nodes version 0 with broker.id. Start-up and
 * `klamm storage`; any thread. */
#include "store/log_dirs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "conf/properties.h"
#include "store/disk_file.h"

#define FILE_NAME "meta.properties"

static bool get_number(const struct properties *p, struct slice key, int64_t min, int64_t max,
                       int64_t *ret_value)
{
    struct slice text = properties_get(p, key);
    return !slice_is_null(text) && slice_to_i64(slice_trim(text), min, max, ret_value);
}

static enum err parse(const struct properties *p, struct log_meta *ret_meta)
{
    struct log_meta meta = {.node_id = -1};
    int64_t version, node_id;
    if (!get_number(p, SLICE_LIT("version"), 0, 1, &version))
        return ERR_CORRUPT;
    meta.version = (int32_t)version;
    struct slice cluster_id = properties_get(p, SLICE_LIT("cluster.id"));
    if (cluster_id.size >= sizeof meta.cluster_id)
        return ERR_CORRUPT;
    if (cluster_id.size)
        memcpy(meta.cluster_id, cluster_id.data, cluster_id.size);
    struct slice key = version ? SLICE_LIT("node.id") : SLICE_LIT("broker.id");
    if (!slice_is_null(properties_get(p, key))) {
        if (!get_number(p, key, 0, INT32_MAX, &node_id))
            return ERR_CORRUPT;
        meta.node_id = (int32_t)node_id;
    }
    if (version && (!cluster_id.size || meta.node_id < 0))
        return ERR_CORRUPT;
    struct slice directory_id = properties_get(p, SLICE_LIT("directory.id"));
    if (!slice_is_null(directory_id) && !uuid_parse(slice_trim(directory_id), &meta.directory_id))
        return ERR_CORRUPT;
    *ret_meta = meta;
    return ERR_NONE;
}

enum err log_meta_read(struct io *io, const char *path, struct log_meta *ret_meta)
{
    struct buf text;
    buf_init(&text);
    char *file = mem_printf("%s/" FILE_NAME, path);
    enum err err = disk_file_read(io, file, PROPERTIES_SIZE_MAX, &text);
    mem_free(file);
    if (!err) {
        struct properties p;
        properties_init(&p);
        int line;
        err = properties_parse(&p, buf_slice(&text), &line) ? ERR_CORRUPT : parse(&p, ret_meta);
        properties_fini(&p);
    } else if (err == ERR_TOO_LARGE) {
        err = ERR_CORRUPT;
    }
    buf_fini(&text);
    return err;
}

enum err log_meta_write(struct io *io, const char *path, const struct log_meta *meta)
{
    struct buf text;
    buf_init(&text);
    char id[UUID_TEXT_SIZE + 1];
    buf_printf(&text, "#\ncluster.id=%s\n", meta->cluster_id);
    if (!uuid_is_zero(&meta->directory_id))
        buf_printf(&text, "directory.id=%s\n", uuid_format(&meta->directory_id, id));
    buf_printf(&text, "node.id=%d\nversion=1\n", meta->node_id);
    char *file = mem_printf("%s/" FILE_NAME, path);
    enum err err = disk_file_replace(io, file, buf_slice(&text), true);
    mem_free(file);
    buf_fini(&text);
    return err;
}
