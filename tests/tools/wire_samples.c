/* Prints every message and record in every version with made-up contents, one a line:
 *   NAME VERSION JSON    first with all fields set; for the last version also with random ones,
 *                        as many times as the argument says (1)
 *   NAME VERSION =JSON   all fields at their defaults, but for the arrays of structs, which JSON
 * lists WireGoldens.java gives such lines to Apache Kafka's classes to make tests/golden/wire. */
#include "../unit/wire/sample.h"

#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

static void print_sample(const struct wire_schema *schema, int version, uint64_t seed)
{
    struct arena a;
    struct buf json;
    arena_init(&a);
    buf_init(&json);
    void *msg = sample_new(schema, version, seed, &a);
    enum err err = wire_to_json(schema, version, msg, WIRE_JSON_RECORDS_BASE64, &json);
    printf("%s %d %.*s\n", wire_schema_name(schema), version,
           SLICE_FMT(err == ERR_NONE ? buf_slice(&json) : slice_str(err_name(err))));
    buf_fini(&json);
    arena_fini(&a);
}

static void print_skeleton(const struct wire_struct *s, int version)
{
    const char *comma = "";
    printf("{");
    for (unsigned i = 0; i < s->field_count; i++) {
        const struct wire_field *f = &wire_fields[s->field_first + i];
        if (!wire_field_in(f, version) || f->type != WIRE_STRUCT || f->flags & WIRE_POINTER)
            continue;
        printf("%s\"%s\":%s", comma, wire_names + f->name, f->flags & WIRE_ARRAY ? "[" : "");
        print_skeleton(&wire_structs[f->item], version);
        printf("%s", f->flags & WIRE_ARRAY ? "]" : "");
        comma = ",";
    }
    printf("}");
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (size_t i = 0; i < wire_schemas_count; i++) {
        const struct wire_schema *schema = wire_schemas[i];
        for (int version = schema->first; version <= schema->last; version++) {
            print_sample(schema, version, 0);
            for (uint64_t seed = 1; version == schema->last && seed <= seeds; seed++)
                print_sample(schema, version, seed);
            printf("%s %d =", wire_schema_name(schema), version);
            print_skeleton(&wire_structs[schema->root], version);
            printf("\n");
        }
    }
    return 0;
}
