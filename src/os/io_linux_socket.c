/* TCP sockets of the Linux implementation: all non-blocking and close-on-exec. Addresses are
 * numeric text; an IPv4 peer of a dual-stack listener is shown as IPv4, as Java does.
 *
 * Called on the loop that owns the socket, except io_resolve, io_bind and io_listen (start-up). */
#include "base/ensure.h"
#include "os/io_linux_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
};

static void address_to_text(const union any_address *from, struct io_address *ret_address)
{
    *ret_address = (struct io_address){0};
    if (from->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &from->v4.sin_addr, ret_address->host, sizeof ret_address->host);
        ret_address->port = ntohs(from->v4.sin_port);
        return;
    }
    ret_address->port = ntohs(from->v6.sin6_port);
    const struct in6_addr *ip = &from->v6.sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(ip))
        inet_ntop(AF_INET, ip->s6_addr + 12, ret_address->host, sizeof ret_address->host);
    else
        inet_ntop(AF_INET6, ip, ret_address->host, sizeof ret_address->host);
}

static enum err address_from_text(const struct io_address *from, union any_address *ret_address,
                                  socklen_t *ret_size)
{
    union any_address a;
    memset(&a, 0, sizeof a);
    if (inet_pton(AF_INET, from->host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(from->port);
        *ret_size = sizeof a.v4;
    } else if (inet_pton(AF_INET6, from->host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(from->port);
        *ret_size = sizeof a.v6;
    } else {
        return ERR_ARGUMENT;
    }
    *ret_address = a;
    return ERR_NONE;
}

enum err linux_resolve(struct io *io, const char *host, uint16_t port,
                       struct io_address *ret_address)
{
    (void)io;
    struct io_address numeric = {.port = port};
    union any_address a;
    socklen_t size;
    /* No host means all interfaces of both families, as in Java. */
    int length = snprintf(numeric.host, sizeof numeric.host, "%s", host[0] ? host : "::");
    if ((size_t)length < sizeof numeric.host &&
        address_from_text(&numeric, &a, &size) == ERR_NONE) {
        *ret_address = numeric;
        return ERR_NONE;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0 || !found)
        return ERR_NOT_FOUND;
    /* IPv4 first, as the JVM prefers it. */
    struct addrinfo *best = found;
    for (struct addrinfo *at = found; at; at = at->ai_next)
        if (at->ai_family == AF_INET) {
            best = at;
            break;
        }
    memset(&a, 0, sizeof a);
    memcpy(&a, best->ai_addr, best->ai_addrlen < sizeof a ? best->ai_addrlen : sizeof a);
    freeaddrinfo(found);
    address_to_text(&a, ret_address);
    ret_address->port = port;
    return ERR_NONE;
}

static void set_option(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* Connections of an earlier process that wait for their end hold the port too: SO_REUSEADDR passes
 * them by. With that option the kernel also lets two sockets have a port as long as neither
 * listens; a socket without it is alone. So it is set only where it is needed, and only while
 * binding. */
static int bind_alone(int fd, const union any_address *address, socklen_t size)
{
    if (bind(fd, &address->any, size) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -1;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    int failed = bind(fd, &address->any, size);
    int bind_errno = errno;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 0);
    errno = bind_errno;
    return failed;
}

enum err linux_bind(struct io *io, const struct io_address *address, int *ret_fd,
                    struct io_address *ret_bound)
{
    union any_address a;
    socklen_t size;
    enum err e = address_from_text(address, &a, &size);
    if (e)
        return e;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool wildcard6 = a.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a.v6.sin6_addr);
    if (fd < 0 && errno == EAFNOSUPPORT && wildcard6) {
        struct io_address v4 = {.host = "0.0.0.0", .port = address->port};
        return linux_bind(io, &v4, ret_fd, ret_bound);
    }
    if (fd < 0)
        return errno_to_err(errno);
    if (wildcard6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    socklen_t bound_size = sizeof a;
    if (bind_alone(fd, &a, size) < 0 || getsockname(fd, &a.any, &bound_size) < 0) {
        e = errno_to_err(errno);
        close(fd);
        return e;
    }
    if (ret_bound)
        address_to_text(&a, ret_bound);
    *ret_fd = fd;
    return ERR_NONE;
}

/* Accepted sockets inherit SO_REUSEADDR: the next process gets by those that wait for their end. */
enum err linux_listen(struct io *io, int fd, int backlog)
{
    (void)io;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    return listen(fd, backlog) < 0 ? errno_to_err(errno) : ERR_NONE;
}

enum err linux_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                      struct io_address *ret_peer)
{
    (void)io;
    union any_address peer, local;
    memset(&peer, 0, sizeof peer);
    memset(&local, 0, sizeof local);
    socklen_t size = sizeof peer;
    int fd;
    do {
        fd = accept4(listen_fd, &peer.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        /* A client that gave up while it waited is no reason to stop. */
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0)
        return errno_to_err(errno);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (ret_peer)
        address_to_text(&peer, ret_peer);
    size = sizeof local;
    if (ret_local) {
        getsockname(fd, &local.any, &size);
        address_to_text(&local, ret_local);
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err linux_connect(struct io *io, const struct io_address *address, int *ret_fd)
{
    (void)io;
    union any_address a;
    socklen_t size;
    enum err e = address_from_text(address, &a, &size);
    if (e)
        return e;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno_to_err(errno);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (connect(fd, &a.any, size) < 0 && errno != EINPROGRESS) {
        e = errno_to_err(errno);
        close(fd);
        return e;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err linux_connect_result(struct io *io, int fd)
{
    (void)io;
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0)
        failed = errno;
    return failed ? errno_to_err(failed) : ERR_NONE;
}

enum err linux_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size)
{
    (void)io;
    ssize_t got;
    do
        got = recv(fd, data, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno_to_err(errno);
    if (got == 0)
        return ERR_CLOSED;
    *ret_size = (size_t)got;
    return ERR_NONE;
}

enum err linux_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                     size_t *ret_size)
{
    (void)io;
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = (size_t)count};
    ssize_t put;
    do
        put = sendmsg(fd, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (put < 0 && errno == EINTR);
    if (put < 0)
        return errno_to_err(errno);
    *ret_size = (size_t)put;
    return ERR_NONE;
}

enum err linux_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                        size_t *ret_size)
{
    (void)io;
    off_t at = offset;
    ssize_t put;
    do
        put = sendfile(fd, file_fd, &at, size);
    while (put < 0 && errno == EINTR);
    if (put < 0)
        return errno_to_err(errno);
    if (put == 0 && size > 0)
        return ERR_CORRUPT;
    *ret_size = (size_t)put;
    return ERR_NONE;
}

void linux_set_buffers(struct io *io, int fd, int send_size, int receive_size)
{
    (void)io;
    if (send_size >= 0)
        set_option(fd, SOL_SOCKET, SO_SNDBUF, send_size);
    if (receive_size >= 0)
        set_option(fd, SOL_SOCKET, SO_RCVBUF, receive_size);
}
