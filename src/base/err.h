/* One table of errors. Kafka's own errors keep their wire numbers (-1, 0, 1 ...); errors that never
 * leave the process start at 10000. Functions return enum err and write results through ret_x
 * arguments, which stay untouched on failure. */
#ifndef KLAMM_BASE_ERR_H
#define KLAMM_BASE_ERR_H

#include <stdbool.h>

enum err {
#define KLAMM_ERROR(name, code, retriable) ERR_##name = (code),
#include "errors.inc"
#undef KLAMM_ERROR
    ERR_IO = 10000,     /* the operating system refused; errno text is with whoever reports it */
    ERR_DISK_FULL,      /* ENOSPC or EDQUOT, or below a reserve */
    ERR_TOO_MANY_FILES, /* EMFILE or ENFILE: never a reason to take a folder offline */
    ERR_NOT_FOUND,      /* no such file, key or object */
    ERR_EXISTS,         /* it is there already */
    ERR_CORRUPT,        /* bytes on disk are not what they must be */
    ERR_MALFORMED,      /* bytes from outside end early or break the format */
    ERR_TOO_LARGE,      /* a length above its limit */
    ERR_NO_MEMORY,      /* the budget or the system has no memory left */
    ERR_AGAIN,          /* would block */
    ERR_CLOSED,         /* the peer or the object is closed */
    ERR_ARGUMENT,       /* the caller's value is not allowed */
    ERR_BUSY,           /* locked by another process, or port in use */
    ERR_OUT_OF_SPACE_IN_INDEX, /* an index has no room for one more entry */
};

/* Kafka's name of a wire error ("OFFSET_OUT_OF_RANGE"), or the local name. Never NULL. */
const char *err_name(enum err e);

/* What happened in words for an operator ("the disk is full"); of a wire error, its name. */
const char *err_text(enum err e);

/* The wire code to answer with: a local error becomes the Kafka error that clients understand
 * (ERR_IO, ERR_DISK_FULL, ERR_TOO_MANY_FILES -> KAFKA_STORAGE_ERROR, ERR_CORRUPT ->
 * CORRUPT_MESSAGE, else UNKNOWN_SERVER_ERROR). */
short err_to_wire(enum err e);

/* The error of a wire code; an unknown code gives ERR_UNKNOWN_SERVER_ERROR. */
enum err err_from_wire(int code);

#endif
