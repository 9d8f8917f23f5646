/* Names and wire mapping of the error table. Pure. */
#include "base/err.h"

#include <stddef.h>

struct row {
    enum err code;
    const char *name, *text;
};

static const struct row rows[] = {
#define KLAMM_ERROR(name, code, retriable) {(enum err)(code), #name, #name},
#include "errors.inc"
#undef KLAMM_ERROR
    {ERR_IO, "IO", "an I/O error, or a file or folder that is gone"},
    {ERR_DISK_FULL, "DISK_FULL", "the disk is full"},
    {ERR_TOO_MANY_FILES, "TOO_MANY_FILES",
     "this process has no file descriptors left (raise ulimit -n, or LimitNOFILE= of the service)"},
    {ERR_NOT_FOUND, "NOT_FOUND", "a file or folder does not exist"},
    {ERR_EXISTS, "EXISTS", "the file or folder exists already"},
    {ERR_CORRUPT, "CORRUPT", "the data is damaged"},
    {ERR_MALFORMED, "MALFORMED", "the data breaks its format"},
    {ERR_TOO_LARGE, "TOO_LARGE", "it is larger than allowed"},
    {ERR_NO_MEMORY, "NO_MEMORY", "there is no memory left"},
    {ERR_AGAIN, "AGAIN", "it would have to wait"},
    {ERR_CLOSED, "CLOSED", "it is closed already"},
    {ERR_ARGUMENT, "ARGUMENT", "a value is not allowed"},
    {ERR_BUSY, "BUSY", "it is in use by another process"},
    {ERR_OUT_OF_SPACE_IN_INDEX, "OUT_OF_SPACE_IN_INDEX", "an index has no room left"},
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

const char *err_text(enum err e)
{
    const struct row *row = find((int)e);
    return row ? row->text : "an unknown error";
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
