/* Names of the codecs, as topic configs (compression.type) and diagnostics spell them. Pure. The
 * numbers are bits 0 to 2 of a batch's attributes. */
#include "record/codec.h"

static const char *const names[CODEC_COUNT] = {"none", "gzip", "snappy", "lz4", "zstd"};

const char *codec_name(enum codec codec)
{
    return (unsigned)codec < CODEC_COUNT ? names[codec] : "unknown";
}

bool codec_from_name(struct slice name, enum codec *ret_codec)
{
    for (int i = 0; i < CODEC_COUNT; i++) {
        if (slice_eq_str(name, names[i])) {
            *ret_codec = (enum codec)i;
            return true;
        }
    }
    return false;
}
