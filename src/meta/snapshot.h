/* An image as the records of a KRaft snapshot, in Kafka's order: features (metadata.version first),
 * brokers, controllers, topics with their partitions, configs, quotas, producer ids, ACLs, SCRAM
 * credentials, delegation tokens. Pure; the caller puts the payloads into batches and files. */
#ifndef KLAMM_META_SNAPSHOT_H
#define KLAMM_META_SNAPSHOT_H

#include "base/arena.h"
#include "base/err.h"
#include "meta/image.h"

/* Calls `put` once for each record; payload is a view that dies with the call. Stops at the first
 * error of `put` and returns it. */
enum err meta_snapshot_write(const struct meta_image *image,
                             enum err (*put)(void *context, struct slice payload), void *context);

#endif
