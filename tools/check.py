#!/usr/bin/env python3
"""The rules of this code base, kept by a program: layers, sizes, banned calls, missing unit tests.

usage: check.py            prints each breach as FILE:LINE: what; exit 1 when there is one

There is no suppression file: where a rule makes a piece of code worse, change the rule here.
"""
import os
import re
import sys

import conf_schema

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
LINE_WIDTH_MAX = 100

# call -> what to use instead. "where" names the files that may use it (prefix match).
BANNED = [
    (r"v?sprintf", "snprintf or buf_printf", ()),
    (r"strcpy|strcat|strncpy|strncat|stpcpy", "slices or buf_put", ()),
    (r"strtok(_r)?", "slice functions", ()),
    (r"ato[if]|atoll?|strto[ld]|strtou?ll?|strtod", "slice_to_i64 or conf/value",
     ("src/base/double.c", "src/conf/value", "src/os/")),
    (r"s?rand|random|s?rand48|arc4random\w*|getrandom", "io_random", ("src/os/",)),
    (r"time|gettimeofday|clock_gettime|localtime(_r)?|gmtime(_r)?|clock", "io_wall_ms or io_mono_ns",
     ("src/os/",)),
    (r"sleep|usleep|nanosleep", "loop timers", ("src/os/",)),
    (r"malloc|calloc|realloc|free|strdup|strndup|asprintf|aligned_alloc|posix_memalign",
     "base/mem.h", ("src/base/mem.c",)),
    (r"alloca|gets|system|popen|setjmp|longjmp|signal|fork|vfork|exec[lv]p?e?", "nothing: banned",
     ("src/os/",)),
    (r"open|openat|creat|pread|pwrite|preadv2?|pwritev2?|fsync|fdatasync|ftruncate|rename|unlink|"
     r"mkdir|rmdir|opendir|readdir|socket|bind|listen|accept4?|connect|recv|recvmsg|sendmsg|"
     r"sendfile|epoll_\w+|mmap|fopen|fdopen|fcntl|ioctl|getrlimit|setrlimit", "os/io.h",
     ("src/os/",)),
    (r"pthread_\w+|thrd_\w+|mtx_\w+", "os/lock.h, loops and jobs", ("src/os/",)),
    (r"printf|puts|putchar|perror", "returned errors, or diag",
     ("src/os/", "src/cli/", "src/main/")),
    (r"fprintf|fputs|fputc|fwrite", "returned errors, or diag",
     ("src/os/", "src/cli/", "src/main/", "src/base/ensure.c", "src/base/mem.c")),
    (r"assert", "ENSURE, which stays on in release builds", ()),
    (r"exit|abort|_exit", "returned errors, or ENSURE",
     ("src/os/", "src/main/", "src/base/ensure.c", "src/base/mem.c")),
]
BANNED_RE = [(re.compile(r"(?<![\w.>])(?:%s)\s*\(" % names), use, where)
             for names, use, where in BANNED]
# Of src/conf: tables, and what checks or describes values without obeying them.
SHOWS_VALUES = ("table", "documentation", "config_check", "dynamic")
IFDEF_MODULES = ("os", "wire", "base", "record")

breaches = []


def breach(path, line, text):
    breaches.append(f"{os.path.relpath(path, ROOT)}:{line}: {text}")


def strip(text):
    """Blanks comments and string and character literals, keeping line breaks."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)


def layers():
    allowed = {}
    for line in open(os.path.join(ROOT, "LAYERS"), encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line:
            module, names = line.split(":")
            allowed[module.strip()] = set(names.split()) | {module.strip()}
    return allowed


def check_includes(path, module, text, allowed):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        if "/" not in target:
            # Generated headers: the error table belongs to base, wire_* to wire, conf_* to conf.
            owner = "base" if target.startswith("errors") else target.split("_")[0].split(".")[0]
        else:
            owner = target.split("/")[0]
        if owner == "conf" or owner in allowed or owner == "wire":
            if owner not in allowed[module]:
                breach(path, number, f"{module} may not include {target} (see LAYERS)")
        else:
            breach(path, number, f"{target}: include paths are MODULE/FILE.h")


def check_sizes(path, code, raw):
    lines = code.splitlines()
    if len(lines) > FILE_LINES_MAX:
        breach(path, len(lines), f"{len(lines)} lines; at most {FILE_LINES_MAX}: split it by noun")
    for number, line in enumerate(raw.splitlines(), 1):
        if len(line) > LINE_WIDTH_MAX:
            breach(path, number, f"{len(line)} columns; at most {LINE_WIDTH_MAX}")
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            if number - start > FUNCTION_LINES_MAX:
                breach(path, start, f"a function of {number - start} lines; "
                                    f"at most {FUNCTION_LINES_MAX}")
            start = None


def check_calls(path, code):
    relative = os.path.relpath(path, ROOT)
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, use, where in BANNED_RE:
            match = pattern.search(line)
            if match and not relative.startswith(tuple(where) or ("\0",)):
                # Declarations of members and of our own functions that share a name are no calls.
                if re.search(r"\(\*\s*$", line[:match.start()]):
                    continue
                breach(path, number, f"{match.group(0)[:-1].strip()} is banned here; use {use}")


def check_head(path, raw, module, code):
    if not raw.startswith("/*"):
        breach(path, 1, "starts without a head comment")
    if module not in IFDEF_MODULES:
        for number, line in enumerate(code.splitlines(), 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
                if path.endswith(".h") and re.match(r"\s*#\s*ifndef KLAMM_\w+_H\b", line):
                    continue
                breach(path, number, "#if belongs to os, base, wire and record alone")
    if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", raw):
        breach(path, 1, "unfinished work is not left in the code")


def check_unit_test(path, module, name):
    """src/m/a_b.c is covered by tests/unit/m/test_a_b.c or by that of its noun, test_a.c."""
    words = name.rsplit(".", 1)[0].split("_")
    for count in range(len(words), 0, -1):
        test = os.path.join(ROOT, "tests", "unit", module, "test_" + "_".join(words[:count]) + ".c")
        if os.path.exists(test):
            listed = open(os.path.join(os.path.dirname(test), "meson.build"), encoding="utf-8").read()
            if "'" + "_".join(words[:count]) + "'" not in listed:
                breach(test, 1, "not listed in its meson.build")
            return
    breach(path, 1, "has no unit test in tests/unit/" + module)


def check_effective_keys(words):
    """A key that docs/CONFIGURATION.md calls effective is read by code: by its own name, or by that
    of a topic or group key whose default it is. The tables themselves, and what only checks or shows
    values, are not looked at."""
    tables = conf_schema.load(os.path.join(ROOT, "schema"))

    def is_read(kind, name):
        return f"{kind}_KEY_{re.sub('[^A-Za-z0-9]', '_', name)}".upper() in words

    stands_behind = {}
    for kind in ("topic", "group"):
        for row in tables[kind]:
            for broker_key, _ in conf_schema.read_fallbacks(row):
                stands_behind.setdefault(broker_key, []).append((kind, row["name"]))
    for row in tables["broker"]:
        name = row["name"]
        if row["support"] == "effective" and not is_read("broker", name) and \
                not any(is_read(*key) for key in stands_behind.get(name, ())):
            breach(os.path.join(ROOT, "schema", "config-support.tsv"), 1,
                   f"{name} is called effective, but nothing in src reads it")


def main():
    allowed = layers()
    count, key_words = 0, set()
    for folder, folders, names in sorted(os.walk(os.path.join(ROOT, "src"))):
        folders.sort()
        module = os.path.relpath(folder, os.path.join(ROOT, "src")).split(os.sep)[0]
        for name in sorted(names):
            if not name.endswith((".c", ".cc", ".h")):
                continue
            path = os.path.join(folder, name)
            count += 1
            raw = open(path, encoding="utf-8").read()
            code = strip(raw)
            if module not in allowed:
                breach(path, 1, f"module {module} is not in LAYERS")
                continue
            check_includes(path, module, raw, allowed)
            check_sizes(path, code, raw)
            check_calls(path, code)
            check_head(path, raw, module, code)
            if module != "conf" or not name.startswith(SHOWS_VALUES):
                key_words.update(re.findall(r"\b(?:BROKER|TOPIC|GROUP)_KEY_\w+", code))
            if name.endswith((".c", ".cc")) and module != "main":
                check_unit_test(path, module, name)
    check_effective_keys(key_words)
    for line in breaches:
        print(line)
    print(f"check: {count} files, {len(breaches)} breaches")
    sys.exit(1 if breaches else 0)


main()
