#include "../unit.h"

#include "os/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void a_line_for_the_descriptor(void **state)
{
    (void)state;
    int ends[2];
    char line[16] = {0};
    assert_int_equal(pipe(ends), 0);
    notify_fd(-1);
    assert_true(notify_fd_is_open(ends[1]));
    notify_fd(ends[1]);
    assert_false(notify_fd_is_open(ends[1]));
    assert_int_equal(read(ends[0], line, sizeof line), 6);
    assert_string_equal(line, "ready\n");
    assert_int_equal(read(ends[0], line, sizeof line), 0); /* closed */
    close(ends[0]);
}

static void a_datagram_for_systemd(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    notify_systemd("READY=1");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "klamm-unit-%d", (int)getpid());
    char name[128];
    snprintf(name, sizeof name, "@%s", address.sun_path + 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    notify_systemd("READY=1");
    char text[16] = {0};
    assert_int_equal(recv(fd, text, sizeof text, 0), 7);
    assert_string_equal(text, "READY=1");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_for_the_descriptor),
        cmocka_unit_test(a_datagram_for_systemd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
