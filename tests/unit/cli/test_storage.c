#include "../unit.h"

#include "cli/storage.h"

#include "record/batch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs the tool in a fresh folder; what it prints (both streams) is in `output`. */
static char folder[64];
static char output[8192];

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static int enter(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/klamm-storage-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    static const char common[] =
        "process.roles=broker,controller\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:40911\n"
        "listeners=PLAINTEXT://127.0.0.1:40910,CONTROLLER://127.0.0.1:40911\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        "log.dirs=store\n";
    write_text("bad.properties", common);
    char with_id[sizeof common + 16];
    snprintf(with_id, sizeof with_id, "node.id=1\n%s", common);
    write_text("store.properties", with_id);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    assert_int_equal(chdir("/tmp"), 0);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int run(const char *line)
{
    char copy[1024], *argv[32];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word;
         word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    fflush(NULL);
    int out = dup(1), err = dup(2), file = open("output", O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    int status = storage_main(argc, argv);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    ssize_t size = pread(file, output, sizeof output - 1, 0);
    output[size] = '\0';
    close(file);
    return status;
}

#define FORMAT "storage format -t h6__LYQSQDyjJs_3nHGvxA -c store.properties"

/* Texts and status of kafka-storage 4.4.0. */
static void formats_as_kafkas_tool(void **state)
{
    (void)state;
    assert_int_equal(run("storage info -c store.properties"), 1);
    assert_string_equal(output, "Found problem:\n  store does not exist\n\n");
    assert_int_equal(run(FORMAT), 1);
    assert_string_equal(output,
                        "Because controller.quorum.voters is not set on this controller, you must "
                        "specify one of the following: --standalone, --initial-controllers, or "
                        "--no-initial-controllers.\n");
    assert_int_equal(run("storage format -t x -c bad.properties --standalone"), 1);
    assert_string_equal(output,
                        "Missing required configuration \"node.id\" which has no default value.\n");
    assert_int_equal(run(FORMAT " --standalone"), 0);
    assert_string_equal(output, "Formatting dynamic metadata voter directory store with "
                                "metadata.version 4.4-IV2.\n");
    assert_int_equal(run(FORMAT " -s"), 1);
    assert_string_equal(output, "Log directory store is already formatted. Use --ignore-formatted "
                                "to ignore this directory and format the others.\n");
    assert_int_equal(run(FORMAT " -s --ignore-formatted"), 0);
    assert_string_equal(output, "All of the log directories are already formatted.\n");
    assert_int_equal(run("storage info -c store.properties"), 0);
    assert_non_null(strstr(output, "Found log directory:\n  store\n\nFound metadata: {cluster.id="
                                   "h6__LYQSQDyjJs_3nHGvxA, directory.id="));
    assert_non_null(strstr(output, ", node.id=1, version=1}\n\n"));
    assert_int_equal(run("storage format -t other -c store.properties -s -g"), 1);
    assert_non_null(strstr(output, "Expected other, but read h6__LYQSQDyjJs_3nHGvxA"));
}

/* Checksums and times of a snapshot set to zero. */
static size_t load_masked(const char *path, uint8_t *data, size_t size_max)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, size_max, f);
    fclose(f);
    memset(data + 73, 0, 8); /* lastContainedLogTimestamp in the first record */
    for (size_t at = 0; at < size; at += batch_size(data + at)) {
        memset(data + at + 17, 0, 4);
        memset(data + at + 27, 0, 16);
    }
    return size;
}

/* The same command line as the node of tests/golden/meta was formatted with. */
static void writes_kafkas_bytes(void **state)
{
    (void)state;
    assert_int_equal(run(FORMAT " -I 1@127.0.0.1:40911:9u3jNxwFRcCmQgnOihEjVw"), 0);
    uint8_t ours[1024], kafkas[1024];
    char path[512];
    snprintf(path, sizeof path, "%s/golden/meta/after-stop/%s", getenv("KLAMM_TESTS_DIR"),
             "00000000000000000000-0000000000.checkpoint");
    size_t size = load_masked(path, kafkas, sizeof kafkas);
    static const char own[] =
        "store/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";
    assert_int_equal(load_masked(own, ours, sizeof ours), size);
    assert_memory_equal(ours, kafkas, size);
    struct stat st;
    assert_int_equal(stat(own, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0400);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"storage", "too few arguments"},
        {"storage bogus", "invalid choice"},
        {"storage info", "argument --config/-c is required"},
        {"storage format -c store.properties", "argument --cluster-id/-t is required"},
        {FORMAT " --what", "unrecognized arguments: '--what'"},
        {FORMAT " -s -N", "argument --no-initial-controllers/-N: not allowed with argument "
                          "--standalone/-s"},
        {FORMAT " -I 1@h:1:AAAAAAAAAAAAAAAAAAAABQ,1@h:2:AAAAAAAAAAAAAAAAAAAABg",
         "Node id 1 was specified more than once."},
        {FORMAT " --initial-controllers=", "No voters given."},
        {FORMAT " -s -r 2.8", "Unknown metadata.version '2.8'. Supported metadata.version are: "
                              "3.3-IV3, 3.4-IV0"},
        {FORMAT " --standa --feat metadata.version=99",
         "No MetadataVersion with feature level 99. Valid feature levels are from 7 to 34."},
        {FORMAT " -s -f foo=1", "Unsupported feature: foo. Supported features are: eligible."},
        {FORMAT " -s -f group.version", "equals sign not found"},
        {FORMAT " -s -f kraft.version=0",
         "Cannot set kraft.version to 0 if controller.quorum.voters is empty"},
        {FORMAT " -s -r 4.5-IV0", "Unknown metadata.version '4.5-IV0'."},
        {FORMAT " -I 1@h", "Failed to parse dynamic voter 1@h"},
        {FORMAT " -s --add-scram x", "SCRAM credentials are not served yet"},
        {"storage info -c nowhere", "nowhere: no such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run(cases[i].line), 1);
        if (!strstr(output, cases[i].text))
            fail_msg("%s: %s", cases[i].line, output);
    }
    assert_int_equal(access("store", F_OK), -1);
}

static void tables(void **state)
{
    (void)state;
    assert_int_equal(run("storage version-mapping -r 4.0"), 0);
    assert_string_equal(output, "metadata.version=25 (4.0)\nkraft.version=1\n"
                                "transaction.version=2\ngroup.version=1\n"
                                "eligible.leader.replicas.version=0\nshare.version=0\n"
                                "streams.version=0\n");
    assert_int_equal(run("storage feature-dependencies -f share.version=2"), 0);
    assert_string_equal(output, "share.version=2 has no dependencies.\n");
    assert_int_equal(run("storage random-uuid"), 0);
    assert_int_equal(strlen(output), 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(formats_as_kafkas_tool, enter, leave),
        cmocka_unit_test_setup_teardown(writes_kafkas_bytes, enter, leave),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, enter, leave),
        cmocka_unit_test_setup_teardown(tables, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
