/* A temporary folder and the Linux io for the tests of src/os. */
#ifndef KLAMM_TESTS_OS_FIXTURE_H
#define KLAMM_TESTS_OS_FIXTURE_H

#include "os/io.h"
#include "os/io_linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

struct fixture {
    struct io *io;
    char folder[64];
};

static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/klamm-test-XXXXXX");
    if (!f || !mkdtemp(f->folder))
        return -1;
    f->io = io_linux_new();
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    char **names;
    size_t count;
    if (io_list_dir(f->io, f->folder, &names, &count) == ERR_NONE) {
        for (size_t i = 0; i < count; i++) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", f->folder, names[i]);
            if (io_unlink(f->io, path))
                io_rmdir(f->io, path);
        }
        io_free_names(names, count);
    }
    io_rmdir(f->io, f->folder);
    io_linux_free(f->io);
    free(f);
    return 0;
}

/* Valid until the fourth call after it. */
static inline const char *in_folder(const struct fixture *f, const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", f->folder, name);
    return path;
}

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif
