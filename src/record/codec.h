/* The compression codecs of Kafka, by their number in the attributes of a batch. */
#ifndef KLAMM_RECORD_CODEC_H
#define KLAMM_RECORD_CODEC_H

enum codec {
    CODEC_NONE = 0,
    CODEC_GZIP = 1,
    CODEC_SNAPPY = 2,
    CODEC_LZ4 = 3,
    CODEC_ZSTD = 4,
};

enum { CODEC_COUNT = 5 };

#endif
