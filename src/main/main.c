/* The one executable: picks the server or a tool by its first word. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("klamm %s\n", KLAMM_VERSION);
        return 0;
    }
    fprintf(stderr, "usage: klamm --version\n");
    return 2;
}
