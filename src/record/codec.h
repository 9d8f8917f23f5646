/* The compression codecs of Kafka, by their number in the attributes of a batch. */
#ifndef KLAMM_RECORD_CODEC_H
#define KLAMM_RECORD_CODEC_H

#include "base/slice.h"

enum codec {
    CODEC_NONE = 0,
    CODEC_GZIP = 1,
    CODEC_SNAPPY = 2,
    CODEC_LZ4 = 3,
    CODEC_ZSTD = 4,
};

enum { CODEC_COUNT = 5 };

/* "none", "gzip", "snappy", "lz4", "zstd"; "unknown" for other numbers. */
const char *codec_name(enum codec codec);

/* The codec of a name as in compression.type, bar "producer" and "uncompressed", which are the
 * caller's; false when it is none. */
bool codec_from_name(struct slice name, enum codec *ret_codec);

#endif
