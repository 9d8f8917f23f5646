/* The simulated disk: a tree of inodes, each with what is visible and what is durable.
 *
 * Files keep two images of the same capacity; a page is dirty from a write until a sync copies it.
 * Directories keep two sorted lists of names and the ordered changes between them. A power cut
 * builds the visible state anew from the durable one plus what the seed lets survive. */
#include "sim_internal.h"

#include <string.h>

void disk_init(struct sim_disk *disk)
{
    *disk = (struct sim_disk){.space = -1, .used = -1};
    disk->root = mem_zalloc(sizeof *disk->root);
    disk->root->is_dir = true;
    disk->root->refs = 1;
}

static int64_t rounded(int64_t size)
{
    return (size + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}

static int64_t count_used(const struct sim_inode *inode)
{
    int64_t used = rounded(inode->size);
    for (size_t i = 0; i < inode->names.count; i++)
        used += count_used(inode->names.items[i].inode);
    return used;
}

/* Space of the files that can be seen. Counted when asked, if it may have changed since. */
int64_t disk_used(struct sim_disk *disk)
{
    if (disk->used < 0)
        disk->used = count_used(disk->root);
    return disk->used;
}

static void set_size(struct sim_disk *disk, struct sim_inode *inode, int64_t size)
{
    if (rounded(size) != rounded(inode->size))
        disk->used = -1;
    inode->size = size;
}

struct sim_inode *inode_ref(struct sim_inode *inode)
{
    inode->refs++;
    return inode;
}

/* ---- names ------------------------------------------------------------------------------------
 */

static size_t names_at(const struct sim_names *names, const char *name, bool *ret_found)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(names->items[middle].name, name);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = false;
    return low;
}

static struct sim_inode *names_get(const struct sim_names *names, const char *name)
{
    bool found;
    size_t at = names_at(names, name, &found);
    return found ? names->items[at].inode : NULL;
}

static void names_remove(struct sim_disk *disk, struct sim_names *names, const char *name)
{
    bool found;
    size_t at = names_at(names, name, &found);
    if (!found)
        return;
    mem_free(names->items[at].name);
    struct sim_inode *inode = names->items[at].inode;
    names->count--;
    memmove(&names->items[at], &names->items[at + 1], (names->count - at) * sizeof names->items[0]);
    inode_unref(disk, inode);
}

static void names_put(struct sim_disk *disk, struct sim_names *names, const char *name,
                      struct sim_inode *inode)
{
    inode_ref(inode);
    names_remove(disk, names, name);
    bool found;
    size_t at = names_at(names, name, &found);
    if (names->count == names->capacity) {
        names->capacity = names->capacity ? names->capacity * 2 : 8;
        names->items = mem_realloc(names->items, names->capacity * sizeof names->items[0]);
    }
    memmove(&names->items[at + 1], &names->items[at], (names->count - at) * sizeof names->items[0]);
    names->items[at] = (struct sim_name){mem_strdup(name), inode};
    names->count++;
}

static void names_clear(struct sim_disk *disk, struct sim_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        mem_free(names->items[i].name);
        inode_unref(disk, names->items[i].inode);
    }
    mem_free(names->items);
    *names = (struct sim_names){0};
}

/* ---- changes of a directory -------------------------------------------------------------------
 */

static void change_add(struct sim_inode *dir, struct sim_change change)
{
    if (dir->change_count == dir->change_capacity) {
        dir->change_capacity = dir->change_capacity ? dir->change_capacity * 2 : 8;
        dir->changes = mem_realloc(dir->changes, dir->change_capacity * sizeof change);
    }
    dir->changes[dir->change_count++] = change;
}

static void change_apply(struct sim_disk *disk, struct sim_inode *dir,
                         const struct sim_change *change)
{
    struct sim_inode *from_dir = change->from_dir ? change->from_dir : dir;
    if (change->from)
        names_remove(disk, &from_dir->durable_names, change->from);
    if (change->kind == CHANGE_PUT)
        names_put(disk, &dir->durable_names, change->name, change->inode);
    else
        names_remove(disk, &dir->durable_names, change->name);
}

static void change_fini(struct sim_disk *disk, struct sim_change *change)
{
    mem_free(change->name);
    mem_free(change->from);
    if (change->inode)
        inode_unref(disk, change->inode);
    if (change->from_dir)
        inode_unref(disk, change->from_dir);
}

/* Makes the first `count` changes durable and forgets all. */
static void changes_end(struct sim_disk *disk, struct sim_inode *dir, size_t applied)
{
    for (size_t i = 0; i < dir->change_count; i++) {
        if (i < applied)
            change_apply(disk, dir, &dir->changes[i]);
    }
    /* Freeing comes last: a change may hold the last reference of an inode a later one names. */
    struct sim_change *changes = dir->changes;
    size_t count = dir->change_count;
    dir->changes = NULL;
    dir->change_count = dir->change_capacity = 0;
    for (size_t i = 0; i < count; i++)
        change_fini(disk, &changes[i]);
    mem_free(changes);
}

struct sim_inode *dir_get(const struct sim_inode *dir, const char *name)
{
    return names_get(&dir->names, name);
}

struct sim_inode *dir_create(struct sim_inode *dir, const char *name, bool is_dir)
{
    struct sim_inode *inode = mem_zalloc(sizeof *inode);
    inode->is_dir = is_dir;
    names_put(NULL, &dir->names, name, inode); /* the name is free: nothing is released */
    change_add(dir, (struct sim_change){
                        .kind = CHANGE_PUT, .name = mem_strdup(name), .inode = inode_ref(inode)});
    return inode;
}

void dir_remove(struct sim_disk *disk, struct sim_inode *dir, const char *name)
{
    change_add(dir, (struct sim_change){.kind = CHANGE_REMOVE, .name = mem_strdup(name)});
    names_remove(disk, &dir->names, name);
    disk->used = -1;
}

void dir_rename(struct sim_disk *disk, struct sim_inode *from_dir, const char *from,
                struct sim_inode *to_dir, const char *to)
{
    struct sim_inode *inode = inode_ref(names_get(&from_dir->names, from));
    names_remove(disk, &from_dir->names, from);
    names_put(disk, &to_dir->names, to, inode);
    disk->used = -1;
    change_add(to_dir,
               (struct sim_change){.kind = CHANGE_PUT,
                                   .name = mem_strdup(to),
                                   .inode = inode,
                                   .from_dir = from_dir == to_dir ? NULL : inode_ref(from_dir),
                                   .from = mem_strdup(from)});
}

void dir_sync(struct sim_disk *disk, struct sim_inode *dir)
{
    changes_end(disk, dir, dir->change_count);
}

/* ---- paths ------------------------------------------------------------------------------------
 */

/* The next component of *at into name; false at the end. */
static bool next_name(const char **at, char *ret_name, size_t size)
{
    while (**at == '/')
        (*at)++;
    size_t length = strcspn(*at, "/");
    if (length == 0)
        return false;
    ENSURE_CMP(length, <, size);
    memcpy(ret_name, *at, length);
    ret_name[length] = '\0';
    *at += length;
    return true;
}

enum err disk_find(struct sim_disk *disk, const char *path, struct sim_inode **ret_inode)
{
    struct sim_inode *at = disk->root;
    char name[512];
    while (next_name(&path, name, sizeof name)) {
        if (strcmp(name, ".") == 0)
            continue;
        if (!at->is_dir)
            return ERR_IO;
        at = dir_get(at, name);
        if (!at)
            return ERR_NOT_FOUND;
    }
    *ret_inode = at;
    return ERR_NONE;
}

enum err disk_find_parent(struct sim_disk *disk, const char *path, struct sim_inode **ret_dir,
                          char *ret_leaf, size_t leaf_size)
{
    char folder[2048];
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    size_t from = size;
    while (from > 0 && path[from - 1] != '/')
        from--;
    if (size == from || from >= sizeof folder || size - from >= leaf_size)
        return ERR_IO;
    memcpy(folder, path, from);
    folder[from] = '\0';
    memcpy(ret_leaf, path + from, size - from);
    ret_leaf[size - from] = '\0';
    struct sim_inode *dir;
    enum err e = disk_find(disk, folder, &dir);
    if (e)
        return e;
    if (!dir->is_dir)
        return ERR_IO;
    *ret_dir = dir;
    return ERR_NONE;
}

/* ---- content of files -------------------------------------------------------------------------
 */

static void make_room(struct sim_inode *inode, int64_t size)
{
    int64_t pages = (size + PAGE_SIZE - 1) / PAGE_SIZE;
    if (pages <= inode->page_count)
        return;
    int64_t count = inode->page_count * 2 > pages ? inode->page_count * 2 : pages;
    size_t old = (size_t)inode->page_count, now = (size_t)count;
    inode->data = mem_realloc(inode->data, now * PAGE_SIZE);
    inode->durable = mem_realloc(inode->durable, now * PAGE_SIZE);
    inode->pages = mem_realloc(inode->pages, now);
    memset(inode->data + old * PAGE_SIZE, 0, (now - old) * PAGE_SIZE);
    memset(inode->durable + old * PAGE_SIZE, 0, (now - old) * PAGE_SIZE);
    memset(inode->pages + old, 0, now - old);
    inode->page_count = count;
}

static void mark(struct sim_inode *inode, int64_t offset, int64_t size, uint8_t bits)
{
    if (size <= 0)
        return;
    for (int64_t p = offset / PAGE_SIZE; p <= (offset + size - 1) / PAGE_SIZE; p++)
        inode->pages[p] |= bits;
}

enum err inode_write(struct sim_disk *disk, struct sim_inode *inode, const void *data, size_t size,
                     int64_t offset, size_t *ret_done)
{
    int64_t end = offset + (int64_t)size;
    if (disk->space >= 0 && end > inode->size) {
        int64_t left = disk->space - disk_used(disk);
        int64_t end_max = rounded(inode->size) + (left > 0 ? left / PAGE_SIZE * PAGE_SIZE : 0);
        end = end < end_max ? end : end_max;
    }
    size_t done = end > offset ? (size_t)(end - offset) : 0;
    done = done < size ? done : size;
    make_room(inode, offset + (int64_t)done);
    if (done > 0) {
        memcpy(inode->data + offset, data, done);
        mark(inode, offset, (int64_t)done, PAGE_DIRTY | PAGE_CACHED);
        if (offset + (int64_t)done > inode->size)
            set_size(disk, inode, offset + (int64_t)done);
    }
    *ret_done = done;
    return done == size ? ERR_NONE : ERR_DISK_FULL;
}

size_t inode_read(struct sim_inode *inode, void *data, size_t size, int64_t offset)
{
    if (offset >= inode->size)
        return 0;
    int64_t left = inode->size - offset;
    size = (int64_t)size < left ? size : (size_t)left;
    memcpy(data, inode->data + offset, size);
    mark(inode, offset, (int64_t)size, PAGE_CACHED);
    return size;
}

enum err inode_resize(struct sim_disk *disk, struct sim_inode *inode, int64_t size)
{
    if (disk->space >= 0 && size > inode->size &&
        disk_used(disk) + size - inode->size > disk->space)
        return ERR_DISK_FULL;
    make_room(inode, size);
    if (size < inode->size) { /* what is cut off reads as zeros if the file grows again */
        memset(inode->data + size, 0, (size_t)(inode->size - size));
        mark(inode, size, inode->size - size, PAGE_DIRTY);
    }
    set_size(disk, inode, size);
    return ERR_NONE;
}

void inode_sync(struct sim_inode *inode)
{
    for (int64_t p = 0; p < inode->page_count; p++)
        if (inode->pages[p] & PAGE_DIRTY) {
            memcpy(inode->durable + p * PAGE_SIZE, inode->data + p * PAGE_SIZE, PAGE_SIZE);
            inode->pages[p] &= (uint8_t)~PAGE_DIRTY;
        }
    inode->durable_size = inode->size;
    inode->durable_mtime_ms = inode->mtime_ms;
}

void inode_sync_failed(struct sim_inode *inode)
{
    for (int64_t p = 0; p < inode->page_count; p++)
        inode->pages[p] &= (uint8_t)~PAGE_DIRTY;
}

bool inode_is_cached(const struct sim_inode *inode, int64_t offset, size_t size)
{
    if (size == 0)
        return true;
    for (int64_t p = offset / PAGE_SIZE; p <= (offset + (int64_t)size - 1) / PAGE_SIZE; p++)
        if (p >= inode->page_count || !(inode->pages[p] & PAGE_CACHED))
            return false;
    return true;
}

void inode_unref(struct sim_disk *disk, struct sim_inode *inode)
{
    if (--inode->refs > 0)
        return;
    changes_end(disk, inode, 0);
    names_clear(disk, &inode->names);
    names_clear(disk, &inode->durable_names);
    mem_free(inode->data);
    mem_free(inode->durable);
    mem_free(inode->pages);
    mem_free(inode);
}

static void forget_changes(struct sim_disk *disk, struct sim_inode *dir)
{
    for (size_t i = 0; i < dir->names.count; i++)
        forget_changes(disk, dir->names.items[i].inode);
    changes_end(disk, dir, 0);
}

void disk_fini(struct sim_disk *disk)
{
    forget_changes(disk, disk->root); /* renames between directories hold each other */
    inode_unref(disk, disk->root);
}

/* ---- crashes ----------------------------------------------------------------------------------
 */

static void drop_caches(struct sim_inode *inode)
{
    for (size_t i = 0; i < inode->names.count; i++)
        drop_caches(inode->names.items[i].inode);
    for (int64_t p = 0; p < inode->page_count; p++)
        inode->pages[p] &= (uint8_t)~PAGE_CACHED;
}

void disk_drop_caches(struct sim_disk *disk)
{
    drop_caches(disk->root);
}

/* One dirty page becomes the old, the new or a mixture by sectors, in the durable image. */
static void tear_page(struct sim *sim, struct sim_inode *inode, int64_t page,
                      struct sim_counters *counters)
{
    uint8_t *from = inode->data + page * PAGE_SIZE, *to = inode->durable + page * PAGE_SIZE;
    uint64_t fate = sim_random_below(sim, 3);
    uint64_t sectors = fate == 0 ? 0 : fate == 1 ? UINT64_MAX : sim_random(sim);
    if (fate != 1)
        counters->lost_pages++;
    for (int s = 0; s < PAGE_SIZE / SECTOR_SIZE; s++)
        if (sectors >> s & 1)
            memcpy(to + s * SECTOR_SIZE, from + s * SECTOR_SIZE, SECTOR_SIZE);
}

static void cut_file(struct sim *sim, struct sim_inode *inode, struct sim_counters *counters)
{
    for (int64_t p = 0; p < inode->page_count; p++)
        if (inode->pages[p] & PAGE_DIRTY)
            tear_page(sim, inode, p, counters);
    int64_t low = inode->durable_size, high = inode->size;
    if (low != high) {
        if (low > high) {
            low = inode->size;
            high = inode->durable_size;
        }
        uint64_t fate = sim_random_below(sim, 3);
        if (fate == 0)
            inode->durable_size = low;
        else if (fate == 1)
            inode->durable_size = high;
        else
            inode->durable_size = low + (int64_t)sim_random_below(sim, (uint64_t)(high - low));
    }
    inode->size = inode->durable_size;
    inode->mtime_ms = inode->durable_mtime_ms;
    if (inode->page_count == 0)
        return;
    memcpy(inode->data, inode->durable, (size_t)inode->page_count * PAGE_SIZE);
    memset(inode->pages, 0, (size_t)inode->page_count);
    /* Bytes beyond the end are gone. */
    size_t rest = (size_t)(inode->page_count * PAGE_SIZE - inode->size);
    if (rest > 0) {
        memset(inode->data + inode->size, 0, rest);
        memset(inode->durable + inode->size, 0, rest);
    }
}

/* First all directories decide what survives (a rename may touch two of them), then the tree is
 * built from it. */
static void cut_changes(struct sim *sim, struct sim_disk *disk, struct sim_inode *dir,
                        struct sim_counters *counters)
{
    for (size_t i = 0; i < dir->names.count; i++)
        if (dir->names.items[i].inode->is_dir)
            cut_changes(sim, disk, dir->names.items[i].inode, counters);
    size_t kept = dir->change_count ? sim_random_below(sim, dir->change_count + 1) : 0;
    counters->lost_names += (int64_t)(dir->change_count - kept);
    changes_end(disk, dir, kept);
}

static void cut_tree(struct sim *sim, struct sim_disk *disk, struct sim_inode *dir,
                     struct sim_counters *counters)
{
    changes_end(disk, dir, 0); /* of a directory whose removal was undone */
    struct sim_names fresh = {0};
    for (size_t i = 0; i < dir->durable_names.count; i++)
        names_put(disk, &fresh, dir->durable_names.items[i].name,
                  dir->durable_names.items[i].inode);
    struct sim_names old = dir->names;
    dir->names = fresh;
    names_clear(disk, &old);
    for (size_t i = 0; i < dir->names.count; i++) {
        struct sim_inode *inode = dir->names.items[i].inode;
        inode->locked = false;
        if (inode->is_dir)
            cut_tree(sim, disk, inode, counters);
        else
            cut_file(sim, inode, counters);
    }
}

void disk_power_cut(struct sim *sim, struct sim_disk *disk, struct sim_counters *counters)
{
    disk->used = -1;
    cut_changes(sim, disk, disk->root, counters);
    cut_tree(sim, disk, disk->root, counters);
}
