/* Runs a fuzz target over files and folders of inputs once: the corpora are tests like any other,
 * and need neither clang nor libFuzzer. The file that crashes is the last one named. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    enum { SIZE_MAX_READ = 1 << 20 };
    uint8_t *all = malloc(SIZE_MAX_READ);
    size_t size = fread(all, 1, SIZE_MAX_READ, file);
    fclose(file);
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read past the end */
    memcpy(exact, all, size);
    free(all);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static size_t run_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        return run_file(path);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    size_t files = 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            files += run_path(inner);
        free(entries[i]);
    }
    free(entries);
    return files;
}

int main(int argc, char **argv)
{
    size_t files = 0;
    for (int i = 1; i < argc; i++)
        files += run_path(argv[i]);
    printf("%zu inputs\n", files);
    return files ? 0 : 1;
}
