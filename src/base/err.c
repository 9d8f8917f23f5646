/* Names and wire mapping of the error table. Pure. */
#include "base/err.h"

#include <stddef.h>

struct row {
    enum err code;
    const char *name;
};

static const struct row rows[] = {
#define KLAMM_ERROR(name, code, retriable) {(enum err)(code), #name},
#include "errors.inc"
#undef KLAMM_ERROR
    {ERR_IO, "IO"},
    {ERR_DISK_FULL, "DISK_FULL"},
    {ERR_TOO_MANY_FILES, "TOO_MANY_FILES"},
    {ERR_NOT_FOUND, "NOT_FOUND"},
    {ERR_EXISTS, "EXISTS"},
    {ERR_CORRUPT, "CORRUPT"},
    {ERR_MALFORMED, "MALFORMED"},
    {ERR_TOO_LARGE, "TOO_LARGE"},
    {ERR_NO_MEMORY, "NO_MEMORY"},
    {ERR_AGAIN, "AGAIN"},
    {ERR_CLOSED, "CLOSED"},
    {ERR_ARGUMENT, "ARGUMENT"},
    {ERR_BUSY, "BUSY"},
    {ERR_OUT_OF_SPACE_IN_INDEX, "OUT_OF_SPACE_IN_INDEX"},
};

static const struct row *find(int code)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((int)rows[i].code == code)
            return &rows[i];
    return NULL;
}

const char *err_name(enum err e)
{
    const struct row *row = find((int)e);
    return row ? row->name : "UNKNOWN";
}

static bool err_is_wire(enum err e)
{
    return (int)e < (int)ERR_IO;
}

short err_to_wire(enum err e)
{
    if (err_is_wire(e))
        return (short)e;
    int code = (int)e;
    if (code == ERR_IO || code == ERR_DISK_FULL || code == ERR_TOO_MANY_FILES)
        return ERR_KAFKA_STORAGE_ERROR;
    if (code == ERR_CORRUPT || code == ERR_MALFORMED)
        return ERR_CORRUPT_MESSAGE;
    return ERR_UNKNOWN_SERVER_ERROR;
}

enum err err_from_wire(int code)
{
    const struct row *row = code < (int)ERR_IO ? find(code) : NULL;
    return row ? row->code : ERR_UNKNOWN_SERVER_ERROR;
}
