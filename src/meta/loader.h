/* From batches of the metadata log to images: applies records in order and obeys metadata
 * transactions. Outside a transaction each batch ends in an image; inside one, records collect and
 * count only from EndTransactionRecord on, AbortTransactionRecord forgets them.
 *
 * Pure; one owner at a time. Used for recovery at start and by followers of a metadata log. */
#ifndef KLAMM_META_LOADER_H
#define KLAMM_META_LOADER_H

#include "base/err.h"
#include "meta/edit.h"

struct meta_loader {
    struct meta_image *image;    /* newest complete image */
    struct meta_edit *edit;      /* records after it; NULL = none */
    int64_t transaction_offset;  /* of the open BeginTransactionRecord; -1 = none open */
    struct meta_provenance last; /* of the last record applied, committed or not */
};

void meta_loader_init(struct meta_loader *loader, const struct meta_image *base);
void meta_loader_fini(struct meta_loader *loader);

/* One data record. ret_text as in meta_edit_replay. */
enum err meta_loader_record(struct meta_loader *loader, struct slice payload,
                            struct meta_provenance at, struct arena *arena, struct slice *ret_text);
/* The end of a batch: true when loader->image is a new one. */
bool meta_loader_batch_end(struct meta_loader *loader);

#endif
