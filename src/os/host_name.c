/* gethostname, never empty and always terminated. */
#include "os/host_name.h"

#include <string.h>
#include <unistd.h>

char *host_name(char name[HOST_NAME_SIZE])
{
    if (gethostname(name, HOST_NAME_SIZE - 1) != 0 || !name[0])
        memcpy(name, "localhost", sizeof "localhost");
    name[HOST_NAME_SIZE - 1] = '\0';
    return name;
}
