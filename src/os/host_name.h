/* The name of this machine, for listeners that are advertised without a host. */
#ifndef KLAMM_OS_HOST_NAME_H
#define KLAMM_OS_HOST_NAME_H

enum { HOST_NAME_SIZE = 256 };

/* Writes it with its NUL; "localhost" when the machine has none. Returns `name`. */
char *host_name(char name[HOST_NAME_SIZE]) __attribute__((nonnull));

#endif
