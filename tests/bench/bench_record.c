/* bench_record: what the validation of produced batches costs, without a broker around it.
 *
 *   ninja -C build tests/bench/bench_record && build/tests/bench/bench_record [SECONDS]
 *
 * Prints for each shape of batch: nanoseconds for each batch and record, and gigabytes of batch
 * bytes (compressed, as sent) in a second; first the CRC alone, for comparison. */
#include "base/crc32c.h"
#include "base/ensure.h"
#include "base/thread_exit.h"
#include "record/builder.h"
#include "record/compress.h"
#include "record/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct shape {
    const char *name;
    enum codec codec;
    int count;
    size_t size;
    bool has_key;
};

/* Text-like bytes that compress to about a half. */
static void fill(uint8_t *bytes, size_t size, uint32_t *seed)
{
    for (size_t i = 0; i < size; i++) {
        *seed = *seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(i % 64 < 32 ? 'a' + i % 7 : 'a' + (*seed >> 24) % 26);
    }
}

static void build(struct buf *out, const struct shape *shape)
{
    static uint8_t value[1 << 16];
    uint32_t seed = 1;
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.codec = shape->codec;
    options.level = codec_level_default(shape->codec);
    options.producer_id = 7;
    options.producer_epoch = 0;
    options.base_sequence = 0;
    buf_init(out);
    builder_begin(&b, out, &options);
    for (int i = 0; i < shape->count; i++) {
        fill(value, shape->size, &seed);
        builder_append(&b, INT64_C(1700000000000) + i / 10,
                       shape->has_key ? slice_of(value, 8) : SLICE_NULL,
                       slice_of(value, shape->size));
    }
    ENSURE(builder_end(&b) == ERR_NONE);
}

static void run(const struct shape *shape, double seconds)
{
    struct buf bytes, rebuilt;
    struct arena arena;
    struct validate_result result;
    struct validate_options options = {.topic = SLICE_LIT("bench"),
                                       .produce_version = 12,
                                       .now_ms = INT64_C(1700000000000),
                                       .timestamp_before_max_ms = INT64_MAX,
                                       .timestamp_after_max_ms = 3600000,
                                       .codec = VALIDATE_CODEC_PRODUCER,
                                       .batch_size_max = 1 << 20};
    buf_init(&rebuilt);
    arena_init(&arena);
    build(&bytes, shape);
    uint32_t sum = 0;
    size_t rounds = 0;
    double start = now_s(), crc_time, time;
    do {
        for (int i = 0; i < 64; i++)
            sum ^= crc32c(0, bytes.data + BATCH_CRC_FROM, bytes.size - BATCH_CRC_FROM);
        rounds += 64;
    } while ((crc_time = now_s() - start) < seconds / 4);
    double crc_ns = crc_time * 1e9 / (double)rounds;
    rounds = 0;
    start = now_s();
    do {
        for (int i = 0; i < 64; i++)
            ENSURE(validate_batch(bytes.data, bytes.size, &options, &arena, &rebuilt, &result) ==
                   ERR_NONE);
        rounds += 64;
    } while ((time = now_s() - start) < seconds);
    double ns = time * 1e9 / (double)rounds;
    printf("%-28s %8zu B %10.0f ns/batch %8.2f ns/record %7.2f GB/s   crc %8.0f ns%s\n",
           shape->name, bytes.size, ns, ns / shape->count, (double)bytes.size / ns, crc_ns,
           sum == 1 ? " " : "");
    buf_fini(&bytes);
    buf_fini(&rebuilt);
    arena_fini(&arena);
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = {
        {"1000 x 100 B", CODEC_NONE, 1000, 100, false},
        {"1000 x 100 B with keys", CODEC_NONE, 1000, 100, true},
        {"150 x 100 B", CODEC_NONE, 150, 100, false},
        {"10 x 1 KB", CODEC_NONE, 10, 1000, false},
        {"1 x 1 KB", CODEC_NONE, 1, 1000, false},
        {"lz4 1 x 1 KB", CODEC_LZ4, 1, 1000, false},
        {"lz4 16 x 1 KB", CODEC_LZ4, 16, 1000, false},
        {"lz4 1000 x 100 B", CODEC_LZ4, 1000, 100, false},
        {"zstd 16 x 1 KB", CODEC_ZSTD, 16, 1000, false},
        {"snappy 16 x 1 KB", CODEC_SNAPPY, 16, 1000, false},
        {"gzip 16 x 1 KB", CODEC_GZIP, 16, 1000, false},
    };
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.3;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        run(&shapes[i], seconds);
    thread_exit_run();
    return 0;
}
