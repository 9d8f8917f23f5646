/* What OffsetCommit, TxnOffsetCommit and OffsetDelete have in common: partitions that do not exist
 * are answered by the handler, the others by the group's shard, and both stand in one answer in the
 * order of the request. This keeps the places of the shard's answers. Loop thread. */
#ifndef KLAMM_API_OFFSET_TOPICS_H
#define KLAMM_API_OFFSET_TOPICS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"

struct meta_image;
struct meta_topic;

struct offset_topics {
    const struct meta_image *image; /* while partitions are kept */
    bool by_id;                     /* the request names topics by id */
    int16_t **places;               /* the error codes that the shard is to give, in order */
    int32_t count, answered;
};

/* Room for `partition_count` places, in the arena. */
struct offset_topics offset_topics_of(const struct meta_image *image, bool by_id,
                                      size_t partition_count, struct arena *arena);

/* NULL when it does not exist; valid as long as the image. */
const struct meta_topic *offset_topics_find(const struct offset_topics *topics, struct slice name,
                                            const struct uuid *id);
/* True when the partition exists: the shard is to be asked, and *error_code is the place of its
 * answer. Else *error_code is set. `topic` may be NULL. */
bool offset_topics_keep(struct offset_topics *topics, const struct meta_topic *topic,
                        int32_t partition, int16_t *error_code);
/* The shard's next answer. More than were asked for are let go. */
void offset_topics_answer(struct offset_topics *topics, int16_t error_code);

#endif
