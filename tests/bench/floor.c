/* floor: the least a broker can do. Receives COUNT frames of SIZE bytes over loopback, checksums
 * each (CRC-32C), writes it to a file (page cache) and answers one byte, with WINDOW frames in
 * flight; then sends the whole file back with sendfile.
 *
 *   cc -O2 floor.c -o floor -lisal                 (Debian: libisal-dev)
 *   floor FILE SIZE COUNT [WINDOW]                 prints one JSON line: cpu seconds per GB for
 * each half, server side only */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static double cpu(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void read_all(int fd, char *p, size_t n)
{
    while (n) {
        ssize_t r = read(fd, p, n);
        if (r <= 0)
            exit(1);
        p += r;
        n -= (size_t)r;
    }
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t r = write(fd, p, n);
        if (r <= 0)
            exit(1);
        p += r;
        n -= (size_t)r;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: floor FILE SIZE COUNT [WINDOW]\n"), 2;
    size_t size = (size_t)atol(argv[2]);
    long count = atol(argv[3]), window = argc > 4 ? atol(argv[4]) : 5;
    int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    if (bind(l, (void *)&a, sizeof a) || listen(l, 1) || getsockname(l, (void *)&a, &len))
        return perror("floor"), 1;
    char *buf = malloc(size + (1 << 20));
    memset(buf, 7, size);
    if (fork() == 0) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (void *)&a, sizeof a))
            return 1;
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        char k;
        for (long i = 0; i < count; i++) {
            write_all(s, buf, size);
            if (i >= window)
                read_all(s, &k, 1);
        }
        for (long i = 0; i < (count < window ? count : window); i++)
            read_all(s, &k, 1);
        size_t left = size * (size_t)count;
        while (left) {
            ssize_t r = read(s, buf, 1 << 20);
            if (r <= 0)
                _exit(1);
            left -= (size_t)r;
        }
        _exit(0);
    }
    int s = accept(l, NULL, NULL), fd = open(argv[1], O_CREAT | O_TRUNC | O_RDWR, 0600);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    unsigned sum = 0;
    double c0 = cpu();
    for (long i = 0; i < count; i++) {
        read_all(s, buf, size);
        sum ^= crc32_iscsi((unsigned char *)buf, (int)size, 0xffffffffu);
        if (pwrite(fd, buf, size, (off_t)(i * (long)size)) != (ssize_t)size)
            return perror("pwrite"), 1;
        write_all(s, "k", 1);
    }
    double c1 = cpu();
    off_t off = 0, end = (off_t)size * count;
    while (off < end)
        if (sendfile(s, fd, &off, 1 << 20) <= 0)
            return perror("sendfile"), 1;
    double c2 = cpu(), gb = (double)end / 1e9;
    wait(NULL);
    unlink(argv[1]);
    printf("{\"size\":%zu,\"produce_cpu_s_per_gb\":%.3f,\"fetch_cpu_s_per_gb\":%.3f,\"crc\":%u}\n",
           size, (c1 - c0) / gb, (c2 - c1) / gb, sum);
    return 0;
}
