/* Replay of metadata records: an edit starts from an image, takes records and ends in the next
 * image. The only writer of images. An edit belongs to one thread; the base stays untouched, so an
 * edit that is dropped leaves no trace (aborted metadata transactions, a failed append).
 *
 * Every record type of 4.4.0 is known: what Klamm does not use yet is kept byte for byte in the
 * image. An unknown type or version stops with ERR_CORRUPT and a text that names both, as ignoring
 * it could lose metadata of a newer release. */
#ifndef KLAMM_META_EDIT_H
#define KLAMM_META_EDIT_H

#include "base/arena.h"
#include "base/err.h"
#include "meta/image.h"

struct meta_edit;

struct meta_edit *meta_edit_new(const struct meta_image *base); /* holds a reference */
void meta_edit_free(struct meta_edit *edit);                    /* accepts NULL */

/* Replays one record; `payload` is the record's value with its frame. `ret_text` (may be NULL)
 * gets a sentence in `arena` on failure; the edit must then be dropped. */
enum err meta_edit_replay(struct meta_edit *edit, struct slice payload, struct arena *arena,
                          struct slice *ret_text);

/* The image after all replayed records; the edit goes on from it. Returns a reference. */
struct meta_image *meta_edit_image(struct meta_edit *edit, struct meta_provenance provenance);

#endif
