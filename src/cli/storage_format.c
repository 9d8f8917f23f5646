/* `klamm storage format`: checks in the order of Kafka's tool, then each folder that is not
 * formatted yet; see storage.h. What is written is repl/quorum_format's. */
#include "base/mem.h"
#include "cli/storage_internal.h"
#include "meta/bootstrap.h"
#include "meta/features.h"
#include "meta/image.h"
#include "repl/quorum_format.h"
#include "store/log_dirs.h"

#include <stdio.h>

enum { VOTERS_MAX = 64 };

struct plan {
    struct io *io;
    const struct storage_args *args;
    struct config *config;
    const struct meta_version *version;
    struct bootstrap_level levels[STORAGE_LIST_MAX];
    int32_t level_count;
    struct quorum_format_voter voters[VOTERS_MAX];
    int32_t voter_count;
    bool dynamic; /* kraft.version 1 */
    struct meta_records bootstrap;
};

static bool say(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return false;
}

/* ---- features ---------------------------------------------------------------------------------
 */

static bool unknown_feature(struct slice name)
{
    fprintf(stderr, "Unsupported feature: %.*s. Supported features are: ", SLICE_FMT(name));
    struct slice last = SLICE_LIT("");
    for (size_t left = feature_count() - 1; left > 0; left--) { /* in the order of their names */
        struct slice next = SLICE_NULL;
        for (size_t i = 1; i < feature_count(); i++) {
            struct slice one = slice_str(feature_at(i)->name);
            if (slice_cmp(one, last) > 0 && (slice_is_null(next) || slice_cmp(one, next) < 0))
                next = one;
        }
        fprintf(stderr, "%s%.*s", last.size ? ", " : "", SLICE_FMT(next));
        last = next;
    }
    fprintf(stderr, "\n");
    return false;
}

static bool bad_feature(struct slice text, const char *why, struct slice what, const char *tail)
{
    fprintf(stderr, "Can't parse feature=level string %.*s: %s%.*s%s\n", SLICE_FMT(text), why,
            SLICE_FMT(what), tail);
    return false;
}

static bool read_features(struct plan *p)
{
    for (int i = 0; i < p->args->features.count; i++) {
        struct slice text = slice_str(p->args->features.items[i]);
        size_t cut = 0;
        while (cut < text.size && text.data[cut] != '=')
            cut++;
        struct slice name = slice_trim(slice_sub(text, 0, cut));
        int64_t level;
        if (cut == text.size)
            return bad_feature(text, "equals sign not found.", SLICE_LIT(""), "");
        struct slice number = slice_trim(slice_sub(text, cut + 1, text.size - cut - 1));
        if (!slice_to_i64(number, INT16_MIN, INT16_MAX, &level))
            return bad_feature(text, "unable to parse ", number, " as a short.");
        const struct feature *feature = feature_find(name);
        if (!feature)
            return unknown_feature(name);
        if (slice_eq(name, FEATURE_METADATA_VERSION) && !meta_version_find((int16_t)level)) {
            fprintf(stderr,
                    "No MetadataVersion with feature level %d. Valid feature levels are from %d "
                    "to %d.\n",
                    (int)level, meta_version_at(0)->level,
                    meta_version_at(meta_version_count() - 1)->level);
            return false;
        }
        if (level < feature->min || level > feature->max) {
            fprintf(stderr, "No feature:%s with feature level %d\n", feature->name, (int)level);
            return false;
        }
        p->levels[p->level_count++] = (struct bootstrap_level){name, (int16_t)level};
    }
    return true;
}

static int16_t given_level(const struct plan *p, struct slice name)
{
    for (int32_t i = 0; i < p->level_count; i++)
        if (slice_eq(p->levels[i].name, name))
            return p->levels[i].level;
    return -1;
}

static bool choose_version(struct plan *p)
{
    int16_t level = given_level(p, FEATURE_METADATA_VERSION);
    if (level >= 0 && p->args->release_version)
        return say("Use --release-version instead of --feature metadata.version=X to avoid "
                   "ambiguity.");
    if (p->args->release_version) {
        p->version = meta_version_by_name(slice_str(p->args->release_version));
        if (!p->version || !p->version->production) {
            storage_unknown_version(p->args->release_version, true);
            return false;
        }
    } else {
        p->version = meta_version_find(level >= 0 ? level : META_VERSION_LATEST);
    }
    if (!p->version->production) {
        fprintf(stderr, "metadata.version %s is not yet stable.\n", p->version->name);
        return false;
    }
    return true;
}

static bool check_levels(const struct plan *p)
{
    for (int32_t i = 0; i < p->level_count; i++) {
        struct slice other;
        int16_t needed;
        for (size_t n = 0; feature_need(p->levels[i].name, p->levels[i].level, n, &other, &needed);
             n++) {
            int16_t has = given_level(p, other);
            if (slice_eq(other, FEATURE_METADATA_VERSION))
                has = p->version->level;
            else if (has < 0)
                has = feature_default_level(other, p->version->level);
            if (has >= needed)
                continue;
            fprintf(stderr, "%.*s could not be set to %d because it depends on %.*s level %d\n",
                    SLICE_FMT(p->levels[i].name), p->levels[i].level, SLICE_FMT(other), needed);
            return false;
        }
    }
    int16_t kraft = given_level(p, FEATURE_KRAFT_VERSION);
    if (kraft < 0 || (kraft > 0) == p->dynamic)
        return true;
    fprintf(stderr,
            "Cannot set kraft.version to %d %s controller.quorum.voters is empty and one of the "
            "flags --standalone, --initial-controllers, or --no-initial-controllers is used. For "
            "dynamic controllers support, try %s\n",
            kraft, kraft > 0 ? "unless" : "if",
            kraft > 0 ? "using one of --standalone, --initial-controllers, or "
                        "--no-initial-controllers and removing controller.quorum.voters."
                      : "removing the --feature flag for kraft.version.");
    return false;
}

/* ---- voters -----------------------------------------------------------------------------------
 */

/* Cuts `*rest` at the last or first `mark`. */
static bool cut_at(struct slice *rest, uint8_t mark, bool last, struct slice *ret_part)
{
    size_t at = rest->size;
    for (size_t i = 0; i < rest->size; i++)
        if (rest->data[i] == mark) {
            at = i;
            if (!last)
                break;
        }
    if (at == rest->size)
        return false;
    struct slice head = slice_sub(*rest, 0, at);
    struct slice tail = slice_sub(*rest, at + 1, rest->size - at - 1);
    *ret_part = last ? tail : head;
    *rest = last ? head : tail;
    return true;
}

/* id@host:port:directory */
static bool parse_voter(struct slice text, struct quorum_format_voter *ret_voter)
{
    struct slice rest = slice_trim(text), part;
    int64_t number;
    if (!cut_at(&rest, '@', false, &part) || !slice_to_i64(part, 0, INT32_MAX, &number))
        return false;
    ret_voter->id = (int32_t)number;
    if (!cut_at(&rest, ':', true, &part) || !uuid_parse(part, &ret_voter->directory_id))
        return false;
    if (!cut_at(&rest, ':', true, &part) || !slice_to_i64(part, 0, 65535, &number))
        return false;
    ret_voter->port = (uint16_t)number;
    if (rest.size > 2 && rest.data[0] == '[' && rest.data[rest.size - 1] == ']')
        rest = slice_sub(rest, 1, rest.size - 2);
    ret_voter->host = rest;
    return rest.size > 0;
}

static bool parse_voters(struct plan *p, const char *text)
{
    struct slice rest = slice_trim(slice_str(text));
    if (rest.size == 0)
        return say("No voters given.");
    while (rest.size > 0) {
        struct slice one;
        if (!cut_at(&rest, ',', false, &one)) {
            one = rest;
            rest = SLICE_LIT("");
        }
        if (p->voter_count == VOTERS_MAX || !parse_voter(one, &p->voters[p->voter_count])) {
            fprintf(stderr,
                    "Failed to parse dynamic voter %.*s: it must be "
                    "id@hostname:port:directory\n",
                    SLICE_FMT(one));
            return false;
        }
        for (int32_t i = 0; i < p->voter_count; i++) {
            if (p->voters[i].id != p->voters[p->voter_count].id)
                continue;
            fprintf(stderr, "Node id %d was specified more than once.\n", p->voters[i].id);
            return false;
        }
        p->voter_count++;
    }
    return true;
}

static bool standalone_voter(struct plan *p)
{
    if (!config_is_controller(p->config))
        return say("You can only use --standalone on a controller.");
    const struct listener_list *list = config_advertised_controller_listeners(p->config);
    if (list->count == 0)
        return say("No controller listeners found.");
    p->voters[0] = (struct quorum_format_voter){config_node_id(p->config), list->items[0].host,
                                                list->items[0].port, quorum_format_id(p->io)};
    if (p->voters[0].host.size == 0)
        p->voters[0].host = SLICE_LIT("localhost");
    p->voter_count = 1;
    return true;
}

static bool choose_voters(struct plan *p)
{
    int32_t static_count;
    config_quorum_voters(p->config, &static_count);
    bool wants = p->args->standalone || p->args->initial_controllers;
    if (static_count > 0 && wants)
        return say("You cannot specify controller.quorum.voters and format the node with "
                   "--initial-controllers or --standalone. If you want to use dynamic quorum, "
                   "please remove controller.quorum.voters and specify "
                   "controller.quorum.bootstrap.servers instead.");
    if (p->args->initial_controllers && !parse_voters(p, p->args->initial_controllers))
        return false;
    if (p->args->standalone && !standalone_voter(p))
        return false;
    if (!wants && !p->args->no_initial_controllers && config_is_controller(p->config) &&
        static_count == 0)
        return say("Because controller.quorum.voters is not set on this controller, you must "
                   "specify one of the following: --standalone, --initial-controllers, or "
                   "--no-initial-controllers.");
    p->dynamic = wants || p->args->no_initial_controllers;
    return true;
}

/* ---- folders ----------------------------------------------------------------------------------
 */

/* 1 formatted for this node, 0 not formatted, -1 refused and said. */
static int state_of(const struct plan *p, const char *dir)
{
    struct log_meta meta;
    enum err e = log_meta_read(p->io, dir, &meta);
    if (e == ERR_NOT_FOUND)
        return 0;
    if (e != ERR_NONE) {
        fprintf(stderr, "%s/meta.properties cannot be read: %s\n", dir, io_error_text(p->io, e));
        return -1;
    }
    if (strcmp(meta.cluster_id, p->args->cluster_id) != 0) {
        fprintf(stderr, "Invalid cluster.id in: %s/meta.properties. Expected %s, but read %s\n",
                dir, p->args->cluster_id, meta.cluster_id);
        return -1;
    }
    if (meta.node_id != config_node_id(p->config)) {
        fprintf(stderr,
                "Stored node id %d doesn't match previous node id %d in %s/meta.properties."
                " If you moved your data, make sure your configured node id matches. If "
                "you intend to create a new node, you should remove all data in your data "
                "directories.\n",
                meta.node_id, config_node_id(p->config), dir);
        return -1;
    }
    return 1;
}

static const struct quorum_format_voter *own_voter(const struct plan *p)
{
    for (int32_t i = 0; i < p->voter_count; i++)
        if (p->voters[i].id == config_node_id(p->config))
            return &p->voters[i];
    return NULL;
}

static bool format_one(const struct plan *p, const char *dir)
{
    bool metadata =
        config_is_controller(p->config) && slice_eq_str(config_metadata_log_dir(p->config), dir);
    const struct quorum_format_voter *own = own_voter(p);
    const char *kind = "data directory";
    if (slice_eq_str(config_metadata_log_dir(p->config), dir))
        kind = p->voter_count == 0 ? "metadata directory"
               : own               ? "dynamic metadata voter directory"
                                   : "dynamic metadata directory";
    printf("Formatting %s %s with metadata.version %s.\n", kind, dir, p->version->name);
    struct conf_list names = config_list(p->config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    struct quorum_format format = {
        .io = p->io,
        .cluster_id = slice_str(p->args->cluster_id),
        .node_id = config_node_id(p->config),
        .has_metadata = metadata,
        .kraft_version = p->dynamic ? 1 : 0,
        .controller_listener = names.count > 0 ? names.items[0] : SLICE_LIT("CONTROLLER"),
        .voters = p->voters,
        .voter_count = p->voter_count,
        .bootstrap = &p->bootstrap,
    };
    struct uuid id = metadata && own ? own->directory_id : quorum_format_id(p->io);
    char *why = NULL;
    if (quorum_format_dir(&format, dir, &id, &why) == ERR_NONE)
        return true;
    fprintf(stderr, "%s\n", why);
    mem_free(why);
    return false;
}

static bool format_dirs(const struct plan *p, char **dirs, int count)
{
    int formatted = 0;
    bool empty[VOTERS_MAX] = {false};
    if (count > VOTERS_MAX)
        return say("Too many log directories.");
    for (int i = 0; i < count; i++) {
        int state = state_of(p, dirs[i]);
        if (state < 0)
            return false;
        if (state > 0 && !p->args->ignore_formatted) {
            fprintf(stderr,
                    "Log directory %s is already formatted. Use --ignore-formatted to "
                    "ignore this directory and format the others.\n",
                    dirs[i]);
            return false;
        }
        formatted += state;
        empty[i] = state == 0;
    }
    if (formatted == count) {
        printf("All of the log directories are already formatted.\n");
        return true;
    }
    for (int i = 0; i < count; i++)
        if (empty[i] && !format_one(p, dirs[i]))
            return false;
    return true;
}

int storage_format(struct io *io, const struct storage_args *args)
{
    struct plan p = {.io = io, .args = args};
    p.config = storage_load_config(io, args->config);
    if (!p.config)
        return 1;
    meta_records_init(&p.bootstrap);
    bool ok = choose_voters(&p) && read_features(&p) && choose_version(&p) && check_levels(&p);
    if (ok)
        bootstrap_records(p.version->level, p.levels, p.level_count, &p.bootstrap);
    ok = ok && storage_add_scram(io, args, p.version, &p.bootstrap);
    if (ok) {
        int count;
        char **dirs = storage_dirs(p.config, &count);
        ok = format_dirs(&p, dirs, count);
        storage_free_dirs(dirs, count);
    }
    meta_records_fini(&p.bootstrap);
    config_unref(p.config);
    return ok ? 0 : 1;
}
