/* Messages and records as JSON, in the form of Kafka's own converters (kafka-dump-log and friends):
 * camelCase names in schema order, uuids as 22 characters of base64url, bytes as base64, numbers
 * plain; fields that the version lacks and tagged fields at their default are left out. */
#ifndef KLAMM_WIRE_JSON_H
#define KLAMM_WIRE_JSON_H

#include "wire/codec.h"

enum wire_json_records {
    WIRE_JSON_RECORDS_SIZE,   /* as {"recordsSizeInBytes": N}, for logs */
    WIRE_JSON_RECORDS_BASE64, /* as base64, so that wire_from_json gives them back */
};

/* Appends one line of JSON. Errors as wire_encode. */
enum err wire_to_json(const struct wire_schema *schema, int version, const void *msg,
                      enum wire_json_records records, struct buf *out);

/* Reads what wire_to_json wrote with records in base64. As Kafka's reader: every field of the
 * version that is not tagged must be there, unknown names are passed over, and a value for a field
 * that the version lacks is taken (wire_encode decides whether it may be dropped). All memory comes
 * from `a`. ERR_MALFORMED: *ret_text (from `a`; ret_text may be NULL) tells what is wrong. */
enum err wire_from_json(const struct wire_schema *schema, int version, struct slice json,
                        struct arena *a, void *ret_msg, struct slice *ret_text);

#endif
