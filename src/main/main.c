/* The one executable: picks the server or a tool by its first word. Words are checked here and
 * answered on stderr; everything a running node says is diagnostics. */
#include "base/mem.h"
#include "cli/storage.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "server/command.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out)
{
    fprintf(
        out,
        "usage: klamm server [OPTION ...] [server.properties]\n"
        "       klamm storage format|info|random-uuid|version-mapping|feature-dependencies ...\n"
        "       klamm version | help\n\noptions of klamm server:\n");
#define SERVER_OPTION(option, argument, text) \
    fprintf(out, "  %-10s %-14s  %s\n", option, argument, text);
#include "server_options.inc"
#undef SERVER_OPTION
    return out == stderr ? 2 : 0;
}

static int run_server(int argc, char **argv)
{
    struct server_options options;
    char *text = NULL;
    if (server_options_parse(argc, argv, &options, &text)) {
        fprintf(stderr, "klamm server: %s (klamm server --help tells the options)\n", text);
        mem_free(text);
        return 2;
    }
    struct io *io = io_linux_new();
    diag_init(io, NULL, NULL);
    int status = server_run(io, &options);
    io_linux_free(io);
    return status;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "server") == 0)
        io_linux_hold_stop();
    mem_tune();
    if (argc == 2 && is_one_of(argv[1], "version", "--version", "-V")) {
        printf("klamm %s (Apache Kafka %s)\n", KLAMM_VERSION, KLAMM_KAFKA_VERSION);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "server") == 0)
        return argc == 3 && is_one_of(argv[2], "--help", "-h", "-h")
                   ? usage(stdout)
                   : run_server(argc - 2, argv + 2);
    if (argc >= 2 && strcmp(argv[1], "storage") == 0)
        return storage_main(argc - 1, argv + 1);
    if (argc == 2 && is_one_of(argv[1], "help", "--help", "-h"))
        return usage(stdout);
    if (argc >= 2)
        fprintf(stderr, "klamm: unknown command: %s\n", argv[1]);
    return usage(stderr);
}
