/* Writes the segment files of a __consumer_offsets partition: commits as a group coordinator writes
 * them, one batch for each request of 10 partitions, in rounds over all keys.
 *
 *     bench_gen_offsets FOLDER GROUPS TOPICS PARTITIONS ROUNDS
 *
 * makes GROUPS x TOPICS x PARTITIONS keys with ROUNDS commits each; PARTITIONS is rounded up to a
 * multiple of 10. Indexes are left to the broker's recovery. Prints records and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "record/batch.h"
#include "record/builder.h"

enum { SEGMENT_SIZE = 104857600, BATCH_RECORDS = 10 };

struct output {
    const char *folder;
    FILE *file;
    int64_t offset_next;
    long long segment_size, total_size;
    int64_t time_ms;
    struct buf batch, key, value;
};

static void put_text(struct buf *out, const char *text)
{
    size_t size = strlen(text);
    buf_put_i16(out, (int16_t)size);
    buf_put(out, text, size);
}

static void write_batch(struct output *o)
{
    if (!o->file || o->segment_size + (long long)o->batch.size > SEGMENT_SIZE) {
        char path[512];
        if (o->file)
            fclose(o->file);
        snprintf(path, sizeof path, "%s/%020lld.log", o->folder, (long long)o->offset_next);
        o->file = fopen(path, "wb");
        if (!o->file) {
            perror(path);
            exit(1);
        }
        o->segment_size = 0;
    }
    batch_set_base_offset(o->batch.data, o->offset_next);
    o->offset_next = batch_offset_next(o->batch.data);
    if (fwrite(o->batch.data, o->batch.size, 1, o->file) != 1) {
        perror(o->folder);
        exit(1);
    }
    o->segment_size += (long long)o->batch.size;
    o->total_size += (long long)o->batch.size;
}

/* One OffsetCommit: the record of partition `from` and its nine successors. */
static void commit(struct output *o, const char *group, const char *topic, int from, long round)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.leader_epoch = 0;
    options.base_sequence = 0;
    struct builder builder;
    buf_clear(&o->batch);
    builder_begin(&builder, &o->batch, &options);
    for (int p = from; p < from + BATCH_RECORDS; p++) {
        buf_clear(&o->key);
        buf_clear(&o->value);
        buf_put_i16(&o->key, 1);
        put_text(&o->key, group);
        put_text(&o->key, topic);
        buf_put_i32(&o->key, p);
        buf_put_i16(&o->value, 3);
        buf_put_i64(&o->value, 1000000 + round);
        buf_put_i32(&o->value, 5);
        put_text(&o->value, "");
        buf_put_i64(&o->value, o->time_ms);
        builder_append(&builder, o->time_ms, buf_slice(&o->key), buf_slice(&o->value));
    }
    if (builder_end(&builder)) {
        fprintf(stderr, "the batch cannot be built\n");
        exit(1);
    }
    write_batch(o);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s FOLDER GROUPS TOPICS PARTITIONS ROUNDS\n", argv[0]);
        return 2;
    }
    long groups = strtol(argv[2], NULL, 10), topics = strtol(argv[3], NULL, 10);
    long partitions = strtol(argv[4], NULL, 10), rounds = strtol(argv[5], NULL, 10);
    struct output o = {.folder = argv[1], .time_ms = (int64_t)time(NULL) * 1000};
    buf_init(&o.batch);
    buf_init(&o.key);
    buf_init(&o.value);
    char group[32], topic[32];
    for (long round = 0; round < rounds; round++) {
        for (long g = 0; g < groups; g++) {
            snprintf(group, sizeof group, "bench-group-%07ld", g);
            for (long t = 0; t < topics; t++) {
                snprintf(topic, sizeof topic, "bench-topic-%04ld", t);
                for (int p = 0; p < partitions; p += BATCH_RECORDS)
                    commit(&o, group, topic, p, round);
            }
        }
    }
    if (o.file)
        fclose(o.file);
    printf("%lld %lld\n", (long long)o.offset_next, o.total_size);
    buf_fini(&o.batch);
    buf_fini(&o.key);
    buf_fini(&o.value);
    return 0;
}
