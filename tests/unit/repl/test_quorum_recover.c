#include "quorum_stage.h"

#include "repl/quorum_format.h"
#include "wire_metadata_records.h"

#include <stdlib.h>
#include <sys/stat.h>

static void copy_golden(struct stage *s, const char *which)
{
    char from[512], to[512], command[1200];
    snprintf(from, sizeof from, "%s/golden/meta/%s", getenv("KLAMM_TESTS_DIR"), which);
    snprintf(to, sizeof to, "%s/__cluster_metadata-0", s->dir);
    snprintf(command, sizeof command, "cp -r %s %s", from, to);
    assert_int_equal(system(command), 0);
}

/* The voter in Kafka's log has this directory id. */
static void kafkas_directory(struct stage *s)
{
    assert_true(uuid_parse(SLICE_LIT("9u3jNxwFRcCmQgnOihEjVw"), &s->dir_id));
}

static void a_folder_of_apache_kafka_is_taken_over(void **state)
{
    (void)state;
    static const char *const folders[] = {"after-stop", "after-kill"};
    for (int i = 0; i < 2; i++) {
        struct stage s;
        stage_init(&s, "controller.quorum.bootstrap.servers=127.0.0.1:40911\n");
        kafkas_directory(&s);
        copy_golden(&s, folders[i]);
        stage_start(&s);
        struct meta_image *image = quorum_image(s.quorum);
        assert_int_equal(meta_image_topic_count(image), 3);
        assert_int_equal(meta_image_topic(image, SLICE_LIT("plain"))->partition_count, 3);
        assert_null(meta_image_topic(image, SLICE_LIT("gone.topic")));
        assert_int_equal(meta_image_topic(image, SLICE_LIT("auto1"))->partitions[0]->leader, 1);
        assert_int_equal(meta_image_next_producer_id(image), 1000);
        assert_int_equal(meta_image_blob_count(image, META_BLOB_SCRAM), 1);
        assert_int_equal(meta_image_blob_count(image, META_BLOB_QUOTA), 1);
        const struct meta_config *group =
            meta_image_config(image, META_RESOURCE_GROUP, SLICE_LIT("gx"));
        assert_slice_eq(meta_config_get(group, SLICE_LIT("consumer.session.timeout.ms")), "50000");
        meta_image_unref(image);
        create(&s, "more");
        stage_close(&s);
        stage_fini(&s);
    }
}

static void damage_is_named(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.bootstrap.servers=127.0.0.1:40911\n");
    kafkas_directory(&s);
    copy_golden(&s, "after-stop");
    char path[128];
    snprintf(path, sizeof path,
             "%s/__cluster_metadata-0/00000000000000000047-0000000001.checkpoint", s.dir);
    assert_int_equal(chmod(path, 0600), 0);
    FILE *f = fopen(path, "r+");
    assert_int_equal(fseek(f, 700, SEEK_SET), 0);
    fputc('x', f);
    fclose(f);
    char *text = NULL;
    assert_int_equal(stage_open(&s, &text), ERR_CORRUPT);
    assert_non_null(strstr(text, "00000000000000000047-0000000001.checkpoint"));
    mem_free(text);
    stage_fini(&s);
}

/* A folder that a newer release formatted and nobody started. */
static void bootstrap_records_of_a_newer_release_are_named(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    struct feature_level_record level;
    wire_init(&wire_feature_level_record, &level);
    level.name = SLICE_LIT("metadata.version");
    level.feature_level = 35;
    struct meta_records records;
    meta_records_init(&records);
    meta_records_add(&records, &wire_feature_level_record, 0, &level);
    struct quorum_format format = {.io = s.io,
                                   .cluster_id = SLICE_LIT("c"),
                                   .node_id = 1,
                                   .has_metadata = true,
                                   .bootstrap = &records};
    char *text = NULL;
    assert_int_equal(quorum_format_dir(&format, s.dir, &s.dir_id, &text), ERR_NONE);
    assert_int_equal(stage_open(&s, &text), ERR_CORRUPT);
    assert_non_null(strstr(text, "00000000000000000000-0000000000.checkpoint: metadata.version 35 "
                                 "is not supported: this release knows 7 to 33 (these "));
    assert_non_null(strstr(text, "start it with that release, or empty its log folders"));
    mem_free(text);
    meta_records_fini(&records);
    stage_fini(&s);
}

/* ---- files that are not whole -----------------------------------------------------------------
 */

static void check_refused(struct stage *s, const char *what)
{
    char *text = NULL;
    assert_int_equal(stage_open(s, &text), ERR_CORRUPT);
    if (!strstr(text, what))
        print_message("%s\n", text);
    assert_non_null(strstr(text, what));
    mem_free(text);
}

/* Wherever a snapshot ends too early, also between two batches: what is missing would be taken for
 * deleted. */
static void a_snapshot_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.bootstrap.servers=127.0.0.1:40911\n");
    kafkas_directory(&s);
    copy_golden(&s, "after-stop");
    const char *name = "00000000000000000047-0000000001.checkpoint";
    char path[128];
    snprintf(path, sizeof path, "%s/__cluster_metadata-0/%s", s.dir, name);
    assert_int_equal(chmod(path, 0600), 0);
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    int told = 0;
    for (off_t size = stat_of.st_size; size-- > 0;) {
        char *text = NULL;
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(stage_open(&s, &text), ERR_CORRUPT);
        assert_non_null(strstr(text, name));
        told += strstr(text, "the snapshot is cut off") != NULL;
        mem_free(text);
    }
    assert_true(told >= 3); /* empty, behind the header, in front of the footer */
    stage_fini(&s);
}

static void a_missing_snapshot_is_named(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911\n"
                   "metadata.log.max.record.bytes.between.snapshots=2000\n"
                   "metadata.max.retention.bytes=1\nmetadata.log.segment.ms=1\n");
    stage_start(&s);
    char name[16];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "t-%d", i);
        create(&s, name);
        while (i % 20 == 19 && !quorum_idle(s.quorum))
            usleep(1000);
    }
    stage_close(&s);
    char *path = mem_printf("%s/__cluster_metadata-0", s.dir);
    char **names;
    size_t count, removed = 0;
    assert_int_equal(io_list_dir(s.io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(names[i], ".checkpoint") || names[i][0] != '0')
            continue;
        char *file = mem_printf("%s/%s", path, names[i]);
        assert_int_equal(unlink(file), 0);
        mem_free(file);
        removed++;
    }
    assert_true(removed > 0);
    io_free_names(names, count);
    mem_free(path);
    check_refused(&s, "a .checkpoint file is missing");
    stage_fini(&s);
}

/* One more epoch would wrap, and the next start could not read quorum-state. */
static void an_epoch_without_a_next_one_is_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    stage_close(&s);
    char *path = mem_printf("%s/__cluster_metadata-0/quorum-state", s.dir);
    FILE *f = fopen(path, "r");
    char text[512];
    size_t size = fread(text, 1, sizeof text - 1, f);
    text[size] = 0;
    fclose(f);
    const char *key = "\"leaderEpoch\":", *at = strstr(text, key);
    assert_non_null(at);
    at += strlen(key);
    f = fopen(path, "w");
    fprintf(f, "%.*s2147483646%s", (int)(at - text), text, at + strspn(at, "0123456789"));
    fclose(f);
    mem_free(path);
    check_refused(&s, "leader epoch 2147483646");
    stage_fini(&s);
}

/* ---- voters ---- */

/* An empty log left behind would be taken for the place of the metadata. */
static void check_no_log(struct stage *s)
{
    char *path = mem_printf("%s/__cluster_metadata-0", s->dir);
    struct io_stat stat;
    assert_int_equal(io_stat(s->io, path, &stat), ERR_NOT_FOUND);
    mem_free(path);
}

/* A folder whose metadata was lost: another reason, another way out. */
static void no_voters_are_told_apart(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.bootstrap.servers=127.0.0.1:40911\n");
    char *text = NULL;
    assert_int_equal(stage_open(&s, &text), ERR_NOT_CONTROLLER);
    assert_non_null(strstr(text, "/__cluster_metadata-0 names no voters"));
    mem_free(text);
    check_no_log(&s);
    stage_fini(&s);
}

static void other_voters_are_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911,2@127.0.0.1:40912\n");
    char *text = NULL;
    assert_int_equal(stage_open(&s, &text), ERR_NOT_CONTROLLER);
    assert_non_null(strstr(text, "not the only voter"));
    mem_free(text);
    check_no_log(&s);
    stage_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_apache_kafka_is_taken_over),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(bootstrap_records_of_a_newer_release_are_named),
        cmocka_unit_test(a_snapshot_that_is_cut_off_is_refused),
        cmocka_unit_test(a_missing_snapshot_is_named),
        cmocka_unit_test(an_epoch_without_a_next_one_is_refused),
        cmocka_unit_test(no_voters_are_told_apart),
        cmocka_unit_test(other_voters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
