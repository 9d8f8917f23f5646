#include "../temp_dir.h"

#include "cli/storage.h"

#include "record/batch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs the tool in a fresh folder; what it prints (both streams) is in `output`. */
static char folder[TEMP_DIR_SIZE];
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
    temp_dir_make(folder, "/tmp");
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

static int leave(void **state)
{
    (void)state;
    assert_int_equal(chdir("/tmp"), 0);
    temp_dir_remove(folder);
    return 0;
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
                        "Missing required configuration \"node.id\" which has no default value. "
                        "Write node.id=1, or another number from 0 to 2147483647 that no other "
                        "node of the cluster has.\n");
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
        {FORMAT " -s @nowhere",
         "the file of arguments nowhere cannot be read: No such file or directory"},
        {"storage info -c nowhere", "nowhere: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run(cases[i].line), 1);
        if (!strstr(output, cases[i].text))
            fail_msg("%s: %s", cases[i].line, output);
    }
    assert_int_equal(access("store", F_OK), -1);
}

static size_t hex_bytes(const char *hex, uint8_t *out)
{
    size_t size = 0;
    for (unsigned byte; sscanf(hex + 2 * size, "%2x", &byte) == 1; size++)
        out[size] = (uint8_t)byte;
    return size;
}

static void assert_written(const char *hex)
{
    uint8_t data[2048], record[512];
    FILE *f = fopen("store/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    size_t record_size = hex_bytes(hex, record);
    if (!memmem(data, size, record, record_size))
        fail_msg("not in the snapshot: %s", hex);
}

/* The records that kafka-storage 4.4.0 wrote for the same command lines: frame, type, version,
 * name, mechanism, salt, stored key, server key, iterations, no tagged fields. */
static void credentials_as_kafkas_tool_writes_them(void **state)
{
    (void)state;
    assert_int_equal(run(FORMAT " -s -S SCRAM-SHA-256=[name=alice,iterations=8192,"
                                "salt=\"MWx2NHBkbnc0ZndxN25vdGN4bTB5eTFrN3E=\","
                                "password=alice-secret] "
                                "--add-scram=SCRAM-SHA-512=[name=alice,salt=N3E,saltedpassword="
                                "\"YCE\"]"),
                     0);
    assert_string_equal(output, "Formatting dynamic metadata voter directory store with "
                                "metadata.version 4.4-IV2.\n");
    assert_written("010b0006616c696365011b316c763470646e7734667771376e6f7463786d307979316b3771"
                   "2101308d9b405dcb0e232f219c36541ad4135452953be0d087db8d643169cbfc48"
                   "21690eaf2152ad361f8e33d684ee84a280173423af7b35304145c2761bf38bb0a9"
                   "0000200000");
    assert_written("010b0006616c696365020337714"
                   "17176a349f91eb2e11d99e95730813516f2f64573dfc25ae618acaae9a8bfd66c"
                   "ba1a74019002d38837e3f1bcac880015b32b23775e71a56dac1226a9a4b3b1bd"
                   "414c617c0eddee5ac6585f2fbf501b7ce95b470d6bf01f1b549c263c18a1b5406e"
                   "a6b85f48d3c7d9dcc43472ea70459dae63a28af4835a6478b83b11c20f060c07"
                   "0000100000");
}

/* A list of processes does not show the lines of a file. */
static void arguments_from_a_file(void **state)
{
    (void)state;
    write_text("arguments", "-S\nSCRAM-SHA-256=[name=alice,password=in a file]\r\n");
    assert_int_equal(run(FORMAT " -s @arguments"), 0);
    assert_written("010b0006616c69636501");
}

/* Status 1, a text of Kafka's tool or of our own, nothing written, and never the password. */
static void refuses_credentials(void **state)
{
    (void)state;
#define SHA256 FORMAT " -s -S SCRAM-SHA-256="
    static const struct {
        const char *line, *text;
    } cases[] = {
        {FORMAT " -s -S", "argument --add-scram/-S: expected one argument"},
        {FORMAT " -S -s", "argument --add-scram/-S: expected one argument"},
        {FORMAT " -s -S hushhush", "Failed to find equals sign in SCRAM argument (not shown"},
        {FORMAT " -s -S hushhush=", "The add-scram mechanism (not shown) is not supported"},
        {FORMAT " -s -S SCRAM-SHA-1=[name=a,password=hushhush]",
         "The add-scram mechanism SCRAM-SHA-1 is not supported.\n"},
        {SHA256 "name=a,password=hushhush]", "Expected configuration string to start with [\n"},
        {SHA256 "[name=a,password=hushhush", "Expected configuration string to end with ]\n"},
        {SHA256 "[", "Expected configuration string to end with ]\n"},
        {SHA256 "[]", "No equals sign found in SCRAM component: \n"},
        {SHA256 "[,]", "You must supply 'name' to add-scram\n"},
        {SHA256 "[password=hushhush]", "You must supply 'name' to add-scram\n"},
        {SHA256 "[name=a,,password=hushhush]", "No equals sign found in SCRAM component: \n"},
        {SHA256 "[name=a,password=x,hushhush]",
         "No equals sign found in SCRAM component 3 (not shown"},
        {SHA256 "[name=a]", "You must supply one of 'password' or 'saltedpassword' to add-scram\n"},
        {SHA256 "[name=a,saltedpassword=hushhush]",
         "You must supply 'salt' with 'saltedpassword' to add-scram\n"},
        {SHA256 "[name=a,salt=N3E=,saltedpassword=hushhush!]",
         "Failed to decode given saltedPassword (not shown)"},
        {SHA256 "[name=a,salt=N3E==,password=hushhush]", "Failed to decode given salt: N3E==\n"},
        {SHA256 "[name=a,iterations=x,password=hushhush]", "Failed to parse iterations count: x\n"},
        {SHA256 "[name=a,iterations=4095,password=hushhush]",
         "The 'iterations' value must be >= 4096 for add-scram using SCRAM_SHA_256\n"},
        {SHA256 "[name=a,iterations=16385,password=hushhush]",
         "The 'iterations' value must be <= 16384 for add-scram using SCRAM_SHA_256\n"},
        {SHA256 "[name=a,zz=1,bb=2,password=hushhush]", "Unknown SCRAM configurations: bb, zz\n"},
        {SHA256 "[name=a,password=x,hushhush=y]",
         "Unknown SCRAM configurations: what follows the password (not shown"},
        {SHA256 "[name=a,password=]", "The password given to add-scram must not be empty\n"},
        {SHA256 "[name=a, password=hushhush]", "unrecognized arguments: (not shown"},
        {SHA256 "[name=a,password=x hushhush]", "unrecognized arguments: (not shown"},
        {FORMAT " -s --add-scrum=SCRAM-SHA-256=[name=a,password=hushhush]",
         "unrecognized arguments: (not shown"},
        {FORMAT " -s -r 3.4 -S SCRAM-SHA-256=[name=a,password=hushhush]",
         "SCRAM is only supported in metadata.version 3.5-IV2 or later.\n"},
    };
#undef SHA256
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run(cases[i].line), 1);
        if (!strstr(output, cases[i].text) || strstr(output, "hush"))
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
        cmocka_unit_test_setup_teardown(credentials_as_kafkas_tool_writes_them, enter, leave),
        cmocka_unit_test_setup_teardown(arguments_from_a_file, enter, leave),
        cmocka_unit_test_setup_teardown(refuses_credentials, enter, leave),
        cmocka_unit_test_setup_teardown(tables, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
