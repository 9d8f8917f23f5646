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
} options[] = {
    {"info", "config", 'c', TEXT, offsetof(struct storage_args, config), true},
    {"format", "config", 'c', TEXT, offsetof(struct storage_args, config), true},
    {"format", "cluster-id", 't', TEXT, offsetof(struct storage_args, cluster_id), true},
    {"format", "add-scram", 'S', FLAG, offsetof(struct storage_args, scram), false},
    {"format", "ignore-formatted", 'g', FLAG, offsetof(struct storage_args, ignore_formatted),
     false},
    {"format", "release-version", 'r', TEXT, offsetof(struct storage_args, release_version), false},
    {"format", "feature", 'f', LIST, 0, false},
    {"format", "standalone", 's', FLAG, offsetof(struct storage_args, standalone), false},
    {"format", "no-initial-controllers", 'N', FLAG,
     offsetof(struct storage_args, no_initial_controllers), false},
    {"format", "initial-controllers", 'I', TEXT, offsetof(struct storage_args, initial_controllers),
     false},
    {"version-mapping", "release-version", 'r', TEXT,
     offsetof(struct storage_args, release_version), false},
    {"feature-dependencies", "feature", 'f', LIST, 0, true},
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
        fprintf(out, "%s--%s%s%s", options[i].required ? " " : " [", options[i].name,
                options[i].kind == FLAG ? "" : " VALUE", options[i].required ? "" : "]");
    }
    fprintf(out, "\n");
}

static bool refuse(const char *command, const char *text, const char *what)
{
    storage_usage(command, true);
    fprintf(stderr, "kafka-storage: error: ");
    fprintf(stderr, "%s", text);
    fprintf(stderr, "%s\n", what);
    return false;
}

/* The option that `arg` names; *ret_value is set for "--name=value". */
static const struct option *find(const char *command, const char *arg, const char **ret_value)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &options[i];
        size_t size = strlen(o->name);
        if (strcmp(o->command, command) != 0)
            continue;
        if (arg[0] == '-' && arg[1] == o->letter && arg[2] == '\0')
            return o;
        if (arg[0] != '-' || arg[1] != '-' || strncmp(arg + 2, o->name, size) != 0)
            continue;
        if (arg[2 + size] == '\0')
            return o;
        if (arg[2 + size] == '=') {
            *ret_value = arg + 3 + size;
            return o;
        }
    }
    return NULL;
}

static bool store(struct storage_args *args, const struct option *o, const char *value)
{
    if (o->kind == LIST) {
        if (args->feature_count == STORAGE_LIST_MAX)
            return false;
        args->features[args->feature_count++] = value;
        return true;
    }
    memcpy((char *)args + o->offset, &value, sizeof value);
    return true;
}

static bool parse_options(int argc, char **argv, struct storage_args *args)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            args->help = true;
            return true;
        }
        const char *value = NULL;
        const struct option *o = find(args->command, argv[i], &value);
        if (!o)
            return refuse(args->command, "unrecognized arguments: ", argv[i]);
        bool scram = o->offset == offsetof(struct storage_args, scram) && o->kind == FLAG;
        if (o->kind == FLAG) {
            *((bool *)((char *)args + o->offset)) = true;
            i += scram && !value; /* its value is not looked at */
            continue;
        }
        if (!value && i + 1 < argc)
            value = argv[++i];
        if (!value || !store(args, o, value))
            return refuse(args->command, "expected one argument for --", o->name);
    }
    return true;
}

static bool has(const struct storage_args *args, const struct option *o)
{
    const char *value;
    if (o->kind == LIST)
        return args->feature_count > 0;
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
        return refuse(NULL, "too few arguments", "");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i]) == 0)
            args.command = commands[i];
    if (!args.command)
        return refuse(NULL, "invalid choice: ", argv[1]);
    if (!parse_options(argc, argv, &args))
        return false;
    for (int i = 0; i < OPTION_COUNT && !args.help; i++) {
        const struct option *o = &options[i];
        if (o->required && strcmp(o->command, args.command) == 0 && !has(&args, o)) {
            char *what = mem_printf("--%s/-%c is required", o->name, o->letter);
            bool no = refuse(args.command, "argument ", what);
            mem_free(what);
            return no;
        }
    }
    if (args.standalone + args.no_initial_controllers + (args.initial_controllers != NULL) > 1)
        return refuse(args.command,
                      "--standalone, --no-initial-controllers and "
                      "--initial-controllers exclude each other",
                      "");
    *ret_args = args;
    return true;
}
