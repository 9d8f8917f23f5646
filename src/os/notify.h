/* Telling whoever started this process how it stands. */
#ifndef KLAMM_OS_NOTIFY_H
#define KLAMM_OS_NOTIFY_H

#include <stdbool.h>

/* To be asked before anything else is opened: the number would soon be one of our own. */
bool notify_fd_is_open(int fd);

/* Writes "ready\n" to the descriptor and closes it; fd < 0 does nothing. */
void notify_fd(int fd);

/* Sends one state line ("READY=1", "STOPPING=1") to systemd if it asked for it (NOTIFY_SOCKET). */
void notify_systemd(const char *state);

#endif
