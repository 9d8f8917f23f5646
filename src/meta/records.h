/* A list of encoded metadata records (value bytes with frame): what a decision wants appended, in
 * one write. */
#ifndef KLAMM_META_RECORDS_H
#define KLAMM_META_RECORDS_H

#include "base/buf.h"

struct wire_schema;

struct meta_records {
    struct buf bytes;
    size_t *ends; /* end of each record in bytes */
    int32_t count, capacity;
};

void meta_records_init(struct meta_records *records);
void meta_records_fini(struct meta_records *records);
void meta_records_clear(struct meta_records *records);
/* Encodes one record struct (struct topic_record ...) at `version`. */
void meta_records_add(struct meta_records *records, const struct wire_schema *schema,
                      int16_t version, const void *record);
/* Adds a record that is encoded already (a bootstrap snapshot's, a kept one). */
void meta_records_add_payload(struct meta_records *records, struct slice payload);
/* Drops all records from the count-th on: what a request's item added before it failed. */
void meta_records_cut(struct meta_records *records, int32_t count);
struct slice meta_records_at(const struct meta_records *records, int32_t index);

#endif
