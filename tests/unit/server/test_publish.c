#include "../api/harness.h"
#include "../api/harness_txn.h"

#include "os/diag.h"
#include "os/io_ops.h"

#include <stdatomic.h>
#include <string.h>

static int64_t append_time(struct harness *h)
{
    return harness_produce(h, "t", 0, 1)->log_append_time_ms;
}

static int16_t alter(struct harness *h, int8_t type, const char *resource, const char *name,
                     const char *value)
{
    struct incremental_alter_configs_request body;
    wire_init(&wire_incremental_alter_configs_request, &body);
    struct incremental_alter_configs_request_alter_configs_resource *item =
        incremental_alter_configs_request_resources_new(&h->arena, &body, 1);
    item->resource_type = type;
    item->resource_name = slice_str(resource);
    struct incremental_alter_configs_request_alterable_config *config =
        incremental_alter_configs_request_alter_configs_resource_configs_new(&h->arena, item, 1);
    config->name = slice_str(name);
    config->value = slice_str(value);
    const struct incremental_alter_configs_response *r =
        harness_call(h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &body);
    return r->responses[0].error_code;
}

/* A change is in effect in the request after its answer. */
static void settings_take_effect_at_once(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(append_time(&h), -1);
    assert_int_equal(alter(&h, 2, "t", "message.timestamp.type", "LogAppendTime"), 0);
    assert_true(append_time(&h) > 0);
    assert_int_equal(alter(&h, 2, "t", "message.timestamp.type", "CreateTime"), 0);
    assert_int_equal(append_time(&h), -1);
    /* The default of all brokers. */
    assert_int_equal(alter(&h, 4, "", "log.message.timestamp.type", "LogAppendTime"), 0);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    assert_true(harness_produce(&h, "u", 0, 1)->log_append_time_ms > 0);
    harness_end(&h);
}

static void note_line(void *context, struct slice line)
{
    int *count = context;
    *count += memmem(line.data, line.size, "num.network.threads=4", 21) != NULL;
}

/* A changed number of threads is said not to act, at the change and at a start. */
static void threads_stay(void **state)
{
    (void)state;
    struct harness h = harness_start();
    int told = 0;
    diag_init(h.io, note_line, &told);
    diag_set_level(DIAG_SERVER, DIAG_WARN);
    harness_open(&h, NULL);
    assert_int_equal(alter(&h, 4, "", "num.network.threads", "4"), 0);
    assert_int_equal(told, 1);
    assert_int_equal(alter(&h, 4, "", "log.retention.ms", "40000"), 0);
    assert_int_equal(told, 1);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_int_equal(told, 2);
    harness_end(&h);
    diag_init(NULL, NULL, NULL);
}

static void note_ignored(void *context, struct slice line)
{
    int *count = context;
    *count += memmem(line.data, line.size, "dynamic settings without effect", 31) != NULL;
}

/* What is left out of the dynamic settings is told at the start, and not again with each change. */
static void ignored_settings_are_told_once(void **state)
{
    (void)state;
    struct harness h = harness_start();
    int told = 0;
    diag_init(h.io, note_ignored, &told);
    diag_set_level(DIAG_SERVER, DIAG_WARN);
    harness_open(&h, NULL);
    assert_int_equal(alter(&h, 4, "", "log.cleaner.threads", "2"), 0);
    assert_int_equal(told, 0);
    harness_close(&h);
    /* Too small for two threads. */
    harness_open(&h, "log.cleaner.dedupe.buffer.size=1100000\n");
    assert_int_equal(told, 1);
    assert_int_equal(alter(&h, 4, "1", "log.retention.ms", "40000"), 0);
    assert_int_equal(told, 1);
    harness_end(&h);
    diag_init(NULL, NULL, NULL);
}

/* A folder that cannot be used from the start on has no id, as a replica that is in no folder yet:
 * new partitions go to the others. */
static void new_partitions_pass_over_a_broken_folder(void **state)
{
    (void)state;
    struct harness h = harness_start();
    char other[TEMP_DIR_SIZE], broken[96], extra[320];
    temp_dir_make(other, "/tmp");
    snprintf(broken, sizeof broken, "%s/b", other);
    FILE *file = fopen(broken, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(extra, sizeof extra, "log.dirs=%s,%s,%s/c\n", h.dir, broken, other);
    diag_set_level(DIAG_STORE, DIAG_FATAL);
    harness_open(&h, extra);
    assert_int_equal(harness_create(&h, "t", 3), 0);
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(harness_produce(&h, "t", i, 1)->error_code, 0);
    harness_end(&h);
    temp_dir_remove(other);
}

static enum err (*resolve)(struct io *io, const char *host, uint16_t port,
                           struct io_address *ret_address);
static atomic_int resolved;

static enum err count_resolve(struct io *io, const char *host, uint16_t port,
                              struct io_address *ret_address)
{
    if (strcmp(host, "10.0.0.1") == 0 || strcmp(host, "10.0.0.2") == 0)
        atomic_fetch_add(&resolved, 1);
    return resolve(io, host, port, ret_address);
}

/* To ask for an address may take long: a change of other settings does not. */
static void hosts_are_resolved_when_they_change(void **state)
{
    (void)state;
    struct harness h = harness_start();
    struct io_ops ops = *h.io->ops;
    resolve = ops.resolve;
    ops.resolve = count_resolve;
    h.io->ops = &ops;
    harness_open(&h, "max.connections.per.ip.overrides=10.0.0.1:5\n");
    assert_int_equal(atomic_load(&resolved), 1);
    assert_int_equal(alter(&h, 4, "", "log.retention.ms", "40000"), 0);
    assert_int_equal(atomic_load(&resolved), 1);
    assert_int_equal(alter(&h, 4, "", "max.connections.per.ip.overrides", "10.0.0.2:7"), 0);
    assert_int_equal(atomic_load(&resolved), 2);
    assert_int_equal(alter(&h, 4, "", "log.retention.ms", "50000"), 0);
    assert_int_equal(atomic_load(&resolved), 2);
    harness_end(&h);
}

/* A log whose topic is gone is set aside at the start, not deleted. */
static void strays(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_close(&h);
    char command[256];
    snprintf(command, sizeof command, "mv %s/t-0 %s/s-0", h.dir, h.dir);
    assert_int_equal(system(command), 0);
    harness_open(&h, NULL);
    snprintf(command, sizeof command, "ls -d %s/s-0.*-stray >/dev/null", h.dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->base_offset, 0);
    harness_end(&h);
}

static char fatal[512];

static void keep_fatal(void *context, struct slice line)
{
    (void)context;
    snprintf(fatal, sizeof fatal, "%.*s", SLICE_FMT(line));
}

/* FOLDER is the first argument of the script. */
static void run(const char *script, const char *folder)
{
    char command[512];
    snprintf(command, sizeof command, "sh -ec '%s' sh %s", script, folder);
    assert_int_equal(system(command), 0);
}

/* Metadata that was lost does not make strays of all partitions: the node does not start, and has
 * everything when the metadata is back. */
static void lost_metadata_sets_nothing_aside(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 3)->base_offset, 0);
    harness_close(&h);
    run("cp -r $1/__cluster_metadata-0 $1/kept", h.dir);
    run("head -c 2000 /dev/urandom > $1/__cluster_metadata-0/00000000000000000000.log", h.dir);
    diag_init(h.io, keep_fatal, NULL);
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    harness_launch(&h, NULL);
    latch_wait(&h.stopped);
    assert_int_equal(h.exit_status, 1);
    assert_non_null(strstr(fatal, "t-0"));
    h.exit_status = 0; /* for harness_close */
    h.fd = -1;
    harness_close(&h);
    diag_init(h.io, NULL, NULL);
    run("rm -r $1/__cluster_metadata-0; mv $1/kept $1/__cluster_metadata-0", h.dir);
    harness_open(&h, NULL);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->base_offset, 3);
    harness_end(&h);
}

static int16_t without_transaction_version(struct harness *h)
{
    struct update_features_request body;
    wire_init(&wire_update_features_request, &body);
    struct update_features_request_feature_update_key *item =
        update_features_request_feature_updates_new(&h->arena, &body, 1);
    item->feature = SLICE_LIT("transaction.version");
    item->upgrade_type = 2; /* down */
    const struct update_features_response *r = harness_call(h, WIRE_API_UPDATE_FEATURES, 1, &body);
    return r->error_code ? r->error_code : r->results[0].error_code;
}

/* What the load of the logs found out about the last stop reaches the coordinator by the first
 * image, whatever that changes: this one has no level of transaction.version. */
static void a_power_cut_ends_epochs(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(without_transaction_version(&h), 0);
    struct harness_producer first = harness_producer(&h, "x");
    harness_close(&h);
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    struct harness_producer stopped = harness_producer(&h, "x");
    harness_close(&h);
    char command[256];
    snprintf(command, sizeof command,
             "rm %s/.kafka_cleanshutdown && printf '0\\nanother\\n0\\n' >%s/.klamm-boot", h.dir,
             h.dir);
    assert_int_equal(system(command), 0);
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(stopped.producer_id, first.producer_id);
    assert_int_equal(stopped.epoch, first.epoch + 1);
    struct harness_producer cut = harness_producer(&h, "x");
    assert_true(cut.producer_id > first.producer_id);
    assert_int_equal(cut.epoch, 0);
    harness_end(&h);
}

static atomic_bool no_folders;
static enum err (*make_folder)(struct io *io, const char *path);

static enum err make_no_folder(struct io *io, const char *path)
{
    return no_folders ? ERR_DISK_FULL : make_folder(io, path);
}

static int16_t fetch_error(struct harness *h, int32_t *session, int32_t epoch)
{
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_bytes = 1 << 20;
    body.session_id = *session;
    body.session_epoch = epoch;
    if (epoch <= 0) {
        struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h->arena, &body, 1);
        topic->topic = SLICE_LIT("t");
        fetch_request_fetch_topic_partitions_new(&h->arena, topic, 1)->partition_max_bytes = 1024;
    }
    const struct fetch_response *r = harness_call(h, WIRE_API_FETCH, 11, &body);
    assert_int_equal(r->responses_count, 1);
    *session = r->session_id;
    return r->responses[0].partitions[0].error_code;
}

/* A partition that gets its log only when the disk has room again is served from then on, to fetch
 * sessions that knew it before as well. */
static void a_log_that_comes_late(void **state)
{
    (void)state;
    struct harness h = harness_start();
    struct io_ops ops = *h.io->ops;
    make_folder = ops.mkdir;
    ops.mkdir = make_no_folder;
    h.io->ops = &ops;
    harness_open(&h, NULL);
    diag_set_level(DIAG_SERVER, DIAG_FATAL);
    no_folders = true;
    assert_int_equal(harness_create(&h, "t", 1), 0);
    int32_t session = 0;
    assert_int_equal(fetch_error(&h, &session, 0), ERR_KAFKA_STORAGE_ERROR);
    assert_true(session > 0);
    no_folders = false;
    int32_t none = 0;
    for (int i = 0; i < 500 && fetch_error(&h, &none, -1); i++)
        usleep(10000);
    assert_int_equal(fetch_error(&h, &none, -1), 0);
    assert_int_equal(fetch_error(&h, &session, 1), 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_take_effect_at_once),
        cmocka_unit_test(threads_stay),
        cmocka_unit_test(ignored_settings_are_told_once),
        cmocka_unit_test(new_partitions_pass_over_a_broken_folder),
        cmocka_unit_test(hosts_are_resolved_when_they_change),
        cmocka_unit_test(strays),
        cmocka_unit_test(lost_metadata_sets_nothing_aside),
        cmocka_unit_test(a_power_cut_ends_epochs),
        cmocka_unit_test(a_log_that_comes_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
