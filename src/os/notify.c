/* --ready-fd and the notify protocol of systemd (one datagram to the socket in NOTIFY_SOCKET; a
 * name that starts with '@' is abstract). Both are best effort: nobody may be listening. Main
 * thread or any loop. */
#include "os/notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool notify_fd_is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

void notify_fd(int fd)
{
    if (fd < 0)
        return;
    static const char line[] = "ready\n";
    ssize_t written = write(fd, line, sizeof line - 1);
    (void)written;
    close(fd);
}

void notify_systemd(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = name ? strlen(name) : 0;
    if (!size || size >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, name, size);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    (void)sent;
    close(fd);
}
