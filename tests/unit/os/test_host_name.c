#include "../unit.h"

#include "os/host_name.h"

#include <string.h>

static void is_never_empty(void **state)
{
    (void)state;
    char name[HOST_NAME_SIZE];
    assert_ptr_equal(host_name(name), name);
    assert_true(strlen(name) > 0 && strlen(name) < HOST_NAME_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_never_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
