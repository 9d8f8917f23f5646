/* The partitions this node holds, by name and by topic id. Under one lock (LOCK_TABLE), held for
 * the look-up alone; what is found is referenced. Any thread. */
#ifndef KLAMM_REPL_PARTITION_TABLE_H
#define KLAMM_REPL_PARTITION_TABLE_H

#include "repl/partition.h"

struct partition_table;

struct partition_table *partition_table_new(void);
void partition_table_free(struct partition_table *table); /* drops its references; accepts NULL */

/* NULL when absent; unref what is found. */
struct partition *partition_table_get(struct partition_table *table, struct slice topic,
                                      int32_t index);
struct partition *partition_table_get_id(struct partition_table *table, const struct uuid *topic_id,
                                         int32_t index);

/* Takes over the reference. The place must be free. */
void partition_table_add(struct partition_table *table, struct partition *partition);
/* The table's reference becomes the caller's; NULL when it is not there. */
struct partition *partition_table_remove(struct partition_table *table, struct slice topic,
                                         int32_t index);

/* All of them, referenced, in no promised order; an array of mem_alloc. */
struct partition **partition_table_all(struct partition_table *table, size_t *ret_count);

#endif
