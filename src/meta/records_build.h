/* Objects of the image as record structs, in what a metadata.version can express; for meta's own
 * files (snapshots, decisions). Arrays point into the object; lists of structs go to the arena. */
#ifndef KLAMM_META_RECORDS_BUILD_H
#define KLAMM_META_RECORDS_BUILD_H

#include "base/arena.h"
#include "meta/features.h"
#include "meta/image.h"

struct partition_record;
struct register_broker_record;
struct register_controller_record;

void meta_partition_to_record(const struct meta_partition *partition, const struct uuid *topic_id,
                              int32_t index, const struct meta_version *version,
                              struct partition_record *ret_record);
void meta_broker_to_record(const struct meta_broker *broker, const struct meta_version *version,
                           struct arena *arena, struct register_broker_record *ret_record);
void meta_controller_to_record(const struct meta_controller_node *node, struct arena *arena,
                               struct register_controller_record *ret_record);

#endif
