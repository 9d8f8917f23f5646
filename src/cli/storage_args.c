/* Options of `klamm storage`; see storage_internal.h. As Kafka's: `--option value`,
 * `--option=value` and `-o value`; what each command takes is a table. */
#include "base/mem.h"
#include "cli/storage_internal.h"

#include <stddef.h>
#include <stdio.h>

enum kind { TEXT, LIST, FLAG };

static const struct option {
    const char *command, *name;
    char letter;
    enum kind kind;
    size_t offset; /* in struct storage_args */
    bool required;
    const char *value, *text; /* for the help */
} options[] = {
    {"info", "config", 'c', TEXT, offsetof(struct storage_args, config), true, "FILE",
     "the server.properties of the node"},
    {"format", "config", 'c', TEXT, offsetof(struct storage_args, config), true, "FILE",
     "the server.properties of the node"},
    {"format", "cluster-id", 't', TEXT, offsetof(struct storage_args, cluster_id), true, "ID",
     "the same for all nodes of a cluster; `klamm storage random-uuid` makes one"},
    {"format", "add-scram", 'S', LIST, offsetof(struct storage_args, scram), false, "CREDENTIAL",
     "a user's password, as 'SCRAM-SHA-256=[name=alice,password=secret]' or with iterations=, "
     "salt=, saltedpassword=; may be repeated"},
    {"format", "ignore-formatted", 'g', FLAG, offsetof(struct storage_args, ignore_formatted),
     false, NULL, "leave folders alone that are formatted already"},
    {"format", "release-version", 'r', TEXT, offsetof(struct storage_args, release_version), false,
     "VERSION", "features as that release of Kafka has them (default: 4.4)"},
    {"format", "feature", 'f', LIST, offsetof(struct storage_args, features), false, "NAME=LEVEL",
     "one feature's level; may be repeated"},
    {"format", "standalone", 's', FLAG, offsetof(struct storage_args, standalone), false, NULL,
     "this controller begins a quorum of its own"},
    {"format", "no-initial-controllers", 'N', FLAG,
     offsetof(struct storage_args, no_initial_controllers), false, NULL,
     "this node joins a quorum later"},
    {"format", "initial-controllers", 'I', TEXT, offsetof(struct storage_args, initial_controllers),
     false, "VOTERS", "the first quorum: ID@HOST:PORT:DIRECTORY, separated by commas"},
    {"version-mapping", "release-version", 'r', TEXT,
     offsetof(struct storage_args, release_version), false, "VERSION", "that release of Kafka"},
    {"feature-dependencies", "feature", 'f', LIST, offsetof(struct storage_args, features), true,
     "NAME=LEVEL", "the feature asked about; may be repeated"},
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static const char *const commands[] = {"info", "format", "version-mapping", "feature-dependencies",
                                       "random-uuid"};

void storage_usage(const char *command, bool to_stderr)
{
    FILE *out = to_stderr ? stderr : stdout;
    if (!command) {
        fprintf(out, "usage: klamm storage [-h]\n                     "
                     "{info,format,version-mapping,feature-dependencies,random-uuid}\n"
                     "                     ...\n");
        return;
    }
    fprintf(out, "usage: klamm storage %s [-h]", command);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(options[i].command, command) != 0)
            continue;
        fprintf(out, "%s--%s%s%s%s", options[i].required ? " " : " [", options[i].name,
                options[i].value ? " " : "", options[i].value ? options[i].value : "",
                options[i].required ? "" : "]");
    }
    fprintf(out, "\n");
    for (int i = 0; !to_stderr && i < OPTION_COUNT; i++) {
        if (strcmp(options[i].command, command) == 0)
            fprintf(out, "  -%c, --%-23s %-11s %s\n", options[i].letter, options[i].name,
                    options[i].value ? options[i].value : "", options[i].text);
    }
}

static bool refuse(const char *command, const char *text)
{
    storage_usage(command, true);
    fprintf(stderr, "kafka-storage: error: %s\n", text);
    return false;
}

static bool refuse_quoted(const char *command, const char *text, const char *what, const char *tail)
{
    char *all = mem_printf("%s'%s'%s", text, what, tail);
    bool no = refuse(command, all);
    mem_free(all);
    return no;
}

static bool refuse_option(const char *command, const struct option *o, const char *text)
{
    char *all = mem_printf("argument --%s/-%c%s", o->name, o->letter, text);
    bool no = refuse(command, all);
    mem_free(all);
    return no;
}

/* The option that `arg` names, by its letter, its name or what begins one name only; *ret_value is
 * set for "--name=value". */
static const struct option *find(const char *command, const char *arg, const char **ret_value)
{
    const struct option *begun = NULL;
    int begun_count = 0;
    bool is_long = arg[0] == '-' && arg[1] == '-' && arg[2] != '\0';
    size_t size = is_long ? strcspn(arg + 2, "=") : 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &options[i];
        if (strcmp(o->command, command) != 0)
            continue;
        if (arg[0] == '-' && arg[1] == o->letter && (arg[2] == '\0' || o->kind != FLAG)) {
            if (arg[2] != '\0')
                *ret_value = arg + 2;
            return o;
        }
        if (size == 0 || strncmp(arg + 2, o->name, size) != 0)
            continue;
        begun = o;
        begun_count++;
        if (o->name[size] == '\0') {
            begun_count = 1;
            break;
        }
    }
    if (begun_count != 1)
        return NULL;
    if (arg[2 + size] == '=')
        *ret_value = arg + 3 + size;
    return begun;
}

static bool is_secret(const struct option *o)
{
    return o->letter == 'S';
}

/* Not shown when it may be a password, or a piece of one that a shell cut off: `-S ...[name=alice,
 * password=secret]` without quotes is two arguments. */
static bool unrecognized(const struct storage_args *args, const char *arg)
{
    bool secret = args->scram.count > 0 || strcasestr(arg, "password") || strcasestr(arg, "scram");
    return secret ? refuse(args->command, "unrecognized arguments: (not shown: it may hold a "
                                          "password; put quotes around the value of --add-scram)")
                  : refuse_quoted(args->command, "unrecognized arguments: ", arg, "");
}

/* The options that say where the first controllers come from exclude each other. */
static bool is_mode(const struct option *o)
{
    return o->letter == 's' || o->letter == 'N' || o->letter == 'I';
}

static bool store(struct storage_args *args, const struct option *o, const char *value)
{
    if (o->kind == LIST) {
        struct storage_list *list = (struct storage_list *)((char *)args + o->offset);
        if (list->count == STORAGE_LIST_MAX)
            return false;
        list->items[list->count++] = value;
        return true;
    }
    memcpy((char *)args + o->offset, &value, sizeof value);
    return true;
}

static bool parse_options(int argc, char **argv, struct storage_args *args)
{
    const struct option *mode = NULL;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            args->help = true;
            return true;
        }
        const char *value = NULL;
        const struct option *o = find(args->command, argv[i], &value);
        if (!o)
            return unrecognized(args, argv[i]);
        if (mode && is_mode(o) && mode != o) {
            char *with =
                mem_printf(": not allowed with argument --%s/-%c", mode->name, mode->letter);
            bool no = refuse_option(args->command, o, with);
            mem_free(with);
            return no;
        }
        if (is_mode(o))
            mode = o;
        if (o->kind == FLAG) {
            *((bool *)((char *)args + o->offset)) = true;
            continue;
        }
        if (!value && i + 1 < argc && !(is_secret(o) && argv[i + 1][0] == '-'))
            value = argv[++i];
        if (!value || !store(args, o, value))
            return refuse_option(args->command, o, ": expected one argument");
    }
    return true;
}

static bool has(const struct storage_args *args, const struct option *o)
{
    const char *value;
    if (o->kind == LIST)
        return ((const struct storage_list *)((const char *)args + o->offset))->count > 0;
    memcpy(&value, (const char *)args + o->offset, sizeof value);
    return value != NULL;
}

bool storage_parse(int argc, char **argv, struct storage_args *ret_args)
{
    struct storage_args args = {.command = NULL};
    if (argc >= 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        args.help = true;
        *ret_args = args;
        return true;
    }
    if (argc < 2)
        return refuse(NULL, "too few arguments");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i]) == 0)
            args.command = commands[i];
    if (!args.command)
        return refuse_quoted(NULL, "invalid choice: ", argv[1],
                             " (choose from 'info', 'format', 'version-mapping', "
                             "'feature-dependencies', 'random-uuid')");
    if (!parse_options(argc, argv, &args))
        return false;
    for (int i = 0; i < OPTION_COUNT && !args.help; i++) {
        const struct option *o = &options[i];
        if (o->required && strcmp(o->command, args.command) == 0 && !has(&args, o))
            return refuse_option(args.command, o, " is required");
    }
    *ret_args = args;
    return true;
}
