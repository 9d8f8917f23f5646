/* What the tests of meta share: records put into an image, and the records of a golden file. */
#ifndef KLAMM_TESTS_META_KIT_H
#define KLAMM_TESTS_META_KIT_H

#include "../unit.h"

#include "meta/edit.h"
#include "meta/records.h"
#include "wire_metadata_records.h"

#include <time.h>

/* Time that this thread has computed: what others do on the machine does not count. */
static inline int64_t kit_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* An edit with what it needs; kit_image ends it. */
struct kit {
    struct arena arena;
    struct meta_records records;
};

static inline void kit_init(struct kit *kit)
{
    arena_init(&kit->arena);
    meta_records_init(&kit->records);
}

static inline void kit_fini(struct kit *kit)
{
    meta_records_fini(&kit->records);
    arena_fini(&kit->arena);
}

/* The image of the records collected so far on top of `base` (NULL = empty), which is unref'd. */
static inline struct meta_image *kit_image(struct kit *kit, struct meta_image *base)
{
    if (!base)
        base = meta_image_empty();
    struct meta_edit *edit = meta_edit_new(base);
    for (int32_t i = 0; i < kit->records.count; i++) {
        struct slice text;
        enum err e = meta_edit_replay(edit, meta_records_at(&kit->records, i), &kit->arena, &text);
        if (e != ERR_NONE)
            print_message("%.*s\n", SLICE_FMT(text));
        assert_int_equal(e, ERR_NONE);
    }
    struct meta_image *image =
        meta_edit_image(edit, (struct meta_provenance){kit->records.count - 1, 1, 0});
    meta_edit_free(edit);
    meta_image_unref(base);
    meta_records_clear(&kit->records);
    return image;
}

/* Replays the one record collected; it must be refused as corrupt. The text is in kit->arena. */
static inline struct slice kit_refused(struct kit *kit, const struct meta_image *base)
{
    struct meta_edit *edit = meta_edit_new(base);
    struct slice text = SLICE_NULL;
    assert_int_equal(meta_edit_replay(edit, meta_records_at(&kit->records, 0), &kit->arena, &text),
                     ERR_CORRUPT);
    meta_edit_free(edit);
    meta_records_clear(&kit->records);
    assert_true(text.size > 0);
    return text;
}

static inline struct uuid kit_id(uint8_t last)
{
    return (struct uuid){{9, 9, 9, [15] = last}};
}

static inline void kit_topic(struct kit *kit, const char *name, uint8_t id)
{
    struct topic_record r;
    wire_init(&wire_topic_record, &r);
    r.name = slice_str(name);
    r.topic_id = kit_id(id);
    meta_records_add(&kit->records, &wire_topic_record, 0, &r);
}

/* A partition with one replica on broker 1, in directory id 77. */
static inline void kit_partition(struct kit *kit, uint8_t topic, int32_t index)
{
    static int32_t one[1] = {1};
    static struct uuid dir[1];
    dir[0] = kit_id(77);
    struct partition_record r;
    wire_init(&wire_partition_record, &r);
    r.partition_id = index;
    r.topic_id = kit_id(topic);
    r.replicas = r.isr = one;
    r.replicas_count = r.isr_count = 1;
    r.leader = 1;
    r.leader_epoch = r.partition_epoch = 0;
    r.directories = dir;
    r.directories_count = 1;
    meta_records_add(&kit->records, &wire_partition_record, 2, &r);
}

static inline void kit_broker(struct kit *kit, int32_t id, int64_t epoch, bool fenced)
{
    static struct uuid dir[1];
    dir[0] = kit_id(77);
    struct register_broker_record r;
    wire_init(&wire_register_broker_record, &r);
    r.broker_id = id;
    r.broker_epoch = epoch;
    r.incarnation_id = kit_id(50);
    r.fenced = fenced;
    r.log_dirs = dir;
    r.log_dirs_count = 1;
    register_broker_record_end_points_new(&kit->arena, &r, 1);
    r.end_points[0].name = SLICE_LIT("PLAINTEXT");
    r.end_points[0].host = SLICE_LIT("localhost");
    r.end_points[0].port = 9092;
    static const struct {
        const char *name;
        int16_t min, max;
    } features[] = {{"eligible.leader.replicas.version", 0, 1},
                    {"metadata.version", 7, 33},
                    {"share.version", 0, 2},
                    {"transaction.version", 0, 2}};
    register_broker_record_features_new(&kit->arena, &r, 4);
    for (int i = 0; i < 4; i++) {
        r.features[i].name = slice_str(features[i].name);
        r.features[i].min_supported_version = features[i].min;
        r.features[i].max_supported_version = features[i].max;
    }
    meta_records_add(&kit->records, &wire_register_broker_record, 4, &r);
}

static inline void kit_feature(struct kit *kit, const char *name, int16_t level)
{
    struct feature_level_record r;
    wire_init(&wire_feature_level_record, &r);
    r.name = slice_str(name);
    r.feature_level = level;
    meta_records_add(&kit->records, &wire_feature_level_record, 0, &r);
}

static inline void kit_config(struct kit *kit, int8_t type, const char *resource, const char *name,
                              const char *value)
{
    struct config_record r;
    wire_init(&wire_config_record, &r);
    r.resource_type = type;
    r.resource_name = slice_str(resource);
    r.name = slice_str(name);
    r.value = slice_str(value);
    meta_records_add(&kit->records, &wire_config_record, 0, &r);
}

#endif
