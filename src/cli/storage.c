/* `klamm storage`: info, version-mapping, feature-dependencies, random-uuid; see storage.h. Format
 * is in storage_format.c, options in storage_args.c. Texts are those of Kafka's tool; errors go to
 * stderr, the status is 1 then. */
#include "cli/storage.h"

#include "base/mem.h"
#include "cli/storage_internal.h"
#include "meta/features.h"
#include "os/digest.h"
#include "os/io_linux.h"
#include "repl/quorum_format.h"
#include "store/log_dirs.h"

#include <stdio.h>

/* ---- configuration ----------------------------------------------------------------------------
 */

static enum err read_file(struct io *io, const char *path, struct buf *out)
{
    int fd;
    struct io_stat stat;
    enum err e = io_open(io, path, IO_READ, &fd);
    if (e != ERR_NONE)
        return e;
    e = io_fstat(io, fd, &stat);
    if (e == ERR_NONE && stat.size > PROPERTIES_SIZE_MAX)
        e = ERR_TOO_LARGE;
    if (e == ERR_NONE) {
        size_t size = 0;
        uint8_t *data = buf_extend(out, (size_t)stat.size);
        e = io_pread(io, fd, data, (size_t)stat.size, 0, &size);
        out->size = size;
    }
    io_close(io, fd);
    return e;
}

struct config *storage_load_config(struct io *io, const char *path)
{
    struct config *config = NULL;
    struct properties properties;
    struct buf text;
    char *why = NULL;
    int line = 0;
    buf_init(&text);
    properties_init(&properties);
    enum err e = read_file(io, path, &text);
    if (e != ERR_NONE) {
        fprintf(stderr, "%s: %s\n", path, io_error_text(io, e));
    } else if ((e = properties_parse(&properties, buf_slice(&text), &line)) != ERR_NONE) {
        fprintf(stderr, "%s:%d: not a properties file\n", path, line);
    } else if ((e = config_new(&properties, &config, &why)) != ERR_NONE) {
        fprintf(stderr, "%s\n", why);
        mem_free(why);
    }
    properties_fini(&properties);
    buf_fini(&text);
    return e == ERR_NONE ? config : NULL;
}

char **storage_dirs(const struct config *config, int *ret_count)
{
    struct conf_list list = config_log_dirs(config);
    struct slice metadata = config_metadata_log_dir(config);
    char **dirs = mem_array((size_t)list.count + 1, sizeof *dirs);
    int count = 0;
    for (int32_t i = 0; i <= list.count; i++) {
        struct slice dir = i < list.count ? list.items[i] : metadata;
        int at = 0;
        while (at < count && slice_cmp(slice_str(dirs[at]), dir) < 0)
            at++;
        if (at < count && slice_eq_str(dir, dirs[at]))
            continue;
        memmove(dirs + at + 1, dirs + at, (size_t)(count - at) * sizeof *dirs);
        dirs[at] = slice_to_cstr(dir);
        count++;
    }
    *ret_count = count;
    return dirs;
}

void storage_free_dirs(char **dirs, int count)
{
    for (int i = 0; i < count; i++)
        mem_free(dirs[i]);
    mem_free(dirs);
}

/* ---- info -------------------------------------------------------------------------------------
 */

struct findings {
    struct buf found, problems;
    int found_count, problem_count;
    struct log_meta meta;
    bool has_meta;
};

static void add_problem(struct findings *f, const char *dir, const char *what)
{
    buf_printf(&f->problems, "  %s%s\n", dir, what);
    f->problem_count++;
}

static void look_at(struct io *io, char *dir, struct findings *f)
{
    io_tidy_path(dir);
    struct io_stat stat;
    if (io_stat(io, dir, &stat) != ERR_NONE) {
        add_problem(f, dir, " does not exist");
        return;
    }
    if (!stat.is_dir) {
        add_problem(f, dir, " is not a directory");
        return;
    }
    buf_printf(&f->found, "  %s\n", dir);
    f->found_count++;
    struct log_meta meta;
    enum err e = log_meta_read(io, dir, &meta);
    if (e == ERR_NOT_FOUND)
        add_problem(f, dir, " is not formatted.");
    else if (e != ERR_NONE)
        add_problem(f, dir, "/meta.properties cannot be read.");
    else if (!f->has_meta) {
        f->meta = meta;
        f->has_meta = true;
    } else if (strcmp(f->meta.cluster_id, meta.cluster_id) != 0)
        add_problem(f, "", "Mismatched cluster IDs between storage directories.");
    else if (f->meta.node_id != meta.node_id)
        add_problem(f, "", "Mismatched node IDs between storage directories.");
}

static void print_findings(const struct findings *f)
{
    if (f->found_count > 0)
        printf("Found log director%s:\n%.*s\n", f->found_count == 1 ? "y" : "ies",
               SLICE_FMT(buf_slice(&f->found)));
    if (f->has_meta) {
        char id[UUID_TEXT_SIZE + 1];
        printf("Found metadata: {cluster.id=%s", f->meta.cluster_id);
        if (!uuid_is_zero(&f->meta.directory_id))
            printf(", directory.id=%s", uuid_format(&f->meta.directory_id, id));
        printf(", %s=%d, version=%d}\n\n", f->meta.version == 0 ? "broker.id" : "node.id",
               f->meta.node_id, f->meta.version);
    }
    if (f->problem_count > 0)
        printf("Found problem%s:\n%.*s\n", f->problem_count == 1 ? "" : "s",
               SLICE_FMT(buf_slice(&f->problems)));
}

static int info(struct io *io, const struct storage_args *args)
{
    struct config *config = storage_load_config(io, args->config);
    if (!config)
        return 1;
    int count;
    char **dirs = storage_dirs(config, &count);
    struct findings f = {.found_count = 0};
    buf_init(&f.found);
    buf_init(&f.problems);
    for (int i = 0; i < count; i++)
        look_at(io, dirs[i], &f);
    if (f.has_meta && f.meta.version == 0)
        add_problem(&f, "",
                    "The kafka configuration file appears to be for a cluster in KRaft "
                    "mode, but the directories are formatted for legacy mode.");
    print_findings(&f);
    buf_fini(&f.found);
    buf_fini(&f.problems);
    storage_free_dirs(dirs, count);
    config_unref(config);
    return f.problem_count > 0 ? 1 : 0;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

void storage_unknown_version(const char *name, bool production_only)
{
    fprintf(stderr, "Unknown metadata.version '%s'. Supported metadata.version are: ", name);
    for (size_t i = 0; i < meta_version_count(); i++)
        if (meta_version_at(i)->production || !production_only)
            fprintf(stderr, "%s%s", i ? ", " : "", meta_version_at(i)->name);
    fprintf(stderr, "\n");
}

static int version_mapping(const struct storage_args *args)
{
    const struct meta_version *version = meta_version_find(33);
    const char *name = args->release_version ? args->release_version : version->name;
    version = meta_version_by_name(slice_str(name));
    if (!version) {
        storage_unknown_version(name, false);
        return 1;
    }
    printf("metadata.version=%d (%s)\n", version->level, name);
    for (size_t i = 0; i < feature_count(); i++) {
        struct slice feature = slice_str(feature_at(i)->name);
        if (!slice_eq(feature, FEATURE_METADATA_VERSION))
            printf("%.*s=%d\n", SLICE_FMT(feature), feature_default_level(feature, version->level));
    }
    return 0;
}

static int one_dependency(const char *text)
{
    struct slice all = slice_str(text);
    size_t cut = 0;
    while (cut < all.size && all.data[cut] != '=')
        cut++;
    struct slice name = slice_sub(all, 0, cut);
    int64_t level;
    if (cut == all.size ||
        !slice_to_i64(slice_sub(all, cut + 1, all.size - cut - 1), INT16_MIN, INT16_MAX, &level)) {
        fprintf(stderr, "Invalid version format: %.*s for feature %.*s\n", (int)(all.size - cut),
                text + cut, SLICE_FMT(name));
        return 1;
    }
    const struct feature *feature = feature_find(name);
    if (!feature) {
        fprintf(stderr, "Unknown feature: %.*s\n", SLICE_FMT(name));
        return 1;
    }
    const struct meta_version *version = meta_version_find((int16_t)level);
    if (slice_eq(name, FEATURE_METADATA_VERSION)) {
        if (version)
            printf("metadata.version=%d (%s) has no dependencies.\n", (int)level, version->name);
        else
            fprintf(stderr, "Unknown metadata.version %d\n", (int)level);
        return version ? 0 : 1;
    }
    if (level < feature->min || level > feature->max) {
        fprintf(stderr, "Feature level %d is not supported for feature %.*s\n", (int)level,
                SLICE_FMT(name));
        return 1;
    }
    struct slice other;
    int16_t needed;
    size_t i = 0;
    for (; feature_need(name, (int16_t)level, i, &other, &needed); i++) {
        if (i == 0)
            printf("%.*s=%d requires:\n", SLICE_FMT(name), (int)level);
        version = meta_version_find(needed);
        if (slice_eq(other, FEATURE_METADATA_VERSION) && version)
            printf("    %.*s=%d (%s)\n", SLICE_FMT(other), needed, version->name);
        else
            printf("    %.*s=%d\n", SLICE_FMT(other), needed);
    }
    if (i == 0)
        printf("%.*s=%d has no dependencies.\n", SLICE_FMT(name), (int)level);
    return 0;
}

static int feature_dependencies(const struct storage_args *args)
{
    int status = 0;
    for (int i = 0; i < args->features.count && status == 0; i++)
        status = one_dependency(args->features.items[i]);
    return status;
}

static int random_uuid(struct io *io)
{
    char text[UUID_TEXT_SIZE + 1];
    struct uuid id = quorum_format_id(io);
    printf("%s\n", uuid_format(&id, text));
    return 0;
}

/* ---- main -------------------------------------------------------------------------------------
 */

static int run(struct io *io, const struct storage_args *args)
{
    if (args->help) {
        storage_usage(args->command, false);
        return 0;
    }
    if (strcmp(args->command, "info") == 0)
        return info(io, args);
    if (strcmp(args->command, "format") == 0)
        return storage_format(io, args);
    if (strcmp(args->command, "version-mapping") == 0)
        return version_mapping(args);
    if (strcmp(args->command, "feature-dependencies") == 0)
        return feature_dependencies(args);
    return random_uuid(io);
}

/* The words of the command line, "@file" replaced by that file's lines: what a list of processes
 * must not show, a password, is given so. */
struct words {
    char **items;
    size_t count, capacity;
};

static void add_word(struct words *words, struct slice text)
{
    words->items = mem_grow(words->items, &words->capacity, words->count, sizeof *words->items);
    words->items[words->count++] = slice_to_cstr(text);
}

static bool add_lines(struct io *io, const char *path, struct words *words)
{
    struct buf text;
    buf_init(&text);
    enum err e = read_file(io, path, &text);
    struct slice rest = buf_slice(&text), line;
    while (e == ERR_NONE && rest.size > 0 && slice_next_part(&rest, '\n', &line)) {
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        add_word(words, line);
    }
    if (e != ERR_NONE)
        fprintf(stderr, "kafka-storage: error: the file of arguments %s cannot be read: %s\n", path,
                io_error_text(io, e));
    digest_wipe(text.data, text.size);
    buf_fini(&text);
    return e == ERR_NONE;
}

static void free_words(struct words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        digest_wipe(words->items[i], strlen(words->items[i]));
        mem_free(words->items[i]);
    }
    mem_free(words->items);
}

int storage_main(int argc, char **argv)
{
    struct io *io = io_linux_new();
    struct words words = {.items = NULL};
    struct storage_args args;
    bool ok = true;
    for (int i = 0; i < argc && ok; i++) {
        if (argv[i][0] == '@')
            ok = add_lines(io, argv[i] + 1, &words);
        else
            add_word(&words, slice_str(argv[i]));
    }
    ok = ok && storage_parse((int)words.count, words.items, &args);
    int status = ok ? run(io, &args) : 1;
    free_words(&words);
    io_linux_free(io);
    return status;
}
