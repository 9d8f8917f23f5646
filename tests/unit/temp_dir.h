/* A folder of a test's own, in /tmp or elsewhere. */
#ifndef KLAMM_TESTS_TEMP_DIR_H
#define KLAMM_TESTS_TEMP_DIR_H

#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEMP_DIR_SIZE = 64 };

static inline void temp_dir_make(char *ret_path, const char *place)
{
    snprintf(ret_path, TEMP_DIR_SIZE, "%s/klamm-unit-XXXXXX", place);
    assert_non_null(mkdtemp(ret_path));
}

static inline int temp_dir_remove_one(const char *path, const struct stat *info, int type,
                                      struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void temp_dir_remove(const char *path)
{
    assert_int_equal(nftw(path, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
