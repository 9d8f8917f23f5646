#!/usr/bin/env python3
"""Runs the tiers of the tests and closes with one line: N passed, N failed, N skipped.

usage: run.py [TIER ...]       default: every tier; --list names them
A tier that cannot run says why and counts as skipped; with CI=true that is a failure.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
PYTHON = "build/venv/bin/python"
passed = failed = skipped = 0


def count(ok, what, detail=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}\n{detail}".rstrip(), flush=True)


def skip(what, why):
    global skipped
    skipped += 1
    print(f"SKIP {what}: {why}", flush=True)


def run(command, seconds=1800, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds, **more)


def build(folder, *options, env=None):
    """Configures once, compiles; a failure counts and returns False."""
    environment = {**os.environ, **(env or {})}
    if not env and shutil.which("ccache"):
        environment.update(CC="ccache gcc", CXX="ccache g++")
    if not os.path.exists(folder + "/build.ninja"):
        result = run(["meson", "setup", folder, "-Dtests=true", *options], env=environment)
        if result.returncode:
            count(False, f"configuring {folder}", result.stdout[-3000:])
            return False
    result = run(["ninja", "-C", folder])
    if result.returncode:
        lines = [l for l in result.stdout.splitlines() if not re.match(r"\[\d+/\d+\]", l)]
        count(False, f"building {folder}", "\n".join(lines[:60]))
        return False
    return True


def meson_suites(folder, *suites, repeat=1, env=None):
    """Each test of the suites counts; the output of a failed one is shown."""
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs"]
    for suite in suites:
        command += ["--suite", suite]
    result = run(command, env={**os.environ, **(env or {})})
    ok = bad = 0
    # The summary names the failed ones once more.
    for line in result.stdout.split("\nSummary of Failures:")[0].splitlines():
        match = re.match(r"\s*\d+/\d+\s+(.*?)\s+(OK|FAIL|TIMEOUT|ERROR|SKIP)\b", line)
        if not match:
            continue
        name = f"{folder} {match.group(1)}"
        if match.group(2) == "OK":
            ok += 1
            count(True, name)
        elif match.group(2) == "SKIP":
            skip(name, "the test said so")
        else:
            bad += 1
            count(False, name)
    if bad or result.returncode and not bad:
        print(result.stdout[-6000:])
    if not ok and not bad:
        count(False, f"{folder}: no test of {suites} ran", result.stdout[-2000:])


def tier_rules():
    result = run([sys.executable, "tools/check.py"])
    count(result.returncode == 0, "tools/check.py", result.stdout)
    result = run([sys.executable, "tests/tools/test_parts.py"])
    count(result.returncode == 0, "tests/tools/test_parts.py", result.stdout)


def sources(*folders, ending=(".c", ".cc", ".h")):
    """Hand-written C files below the folders (git may not be installed)."""
    return sorted(os.path.join(path, name) for folder in folders
                  for path, _, names in os.walk(folder) for name in names
                  if name.endswith(ending))


def tier_format():
    files = sources("src", "tests")
    result = run(["clang-format", "--dry-run", "--Werror", *files])
    bad = sorted({l.split(":")[0] for l in result.stdout.splitlines() if "error:" in l})
    count(result.returncode == 0, "clang-format", "\n".join(bad))


def tier_docs():
    for script in ("tools/gen_config_docs.py", "tools/gen_compat_docs.py", "tools/gen_options.py"):
        result = run([sys.executable, script, "--check"])
        count(result.returncode == 0, script + " --check", result.stdout)
    result = run([sys.executable, "tests/tools/test_docs.py"])
    count(result.returncode == 0, "tests/tools/test_docs.py", result.stdout)


def tier_tidy():
    if build("build-test", "-Dwerror_all=true"):
        files = sources("src", ending=".c")

        def tidy(file):
            return run(["clang-tidy", "-p", "build-test", "--quiet", file])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, result in zip(files, pool.map(tidy, files)):
                count(result.returncode == 0, "clang-tidy " + file, result.stdout[-4000:])


def tier_unit():
    if build("build-test", "-Dwerror_all=true"):
        meson_suites("build-test", "unit")


def tier_sanitize():
    # Without -Werror: gcc's warnings see through the checks that the sanitizers add. The plain
    # builds of both compilers have it.
    options = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
    if build("build-asan", *options):
        # Leaks are looked for by default; the simulator, whose killed processes keep their heap,
        # turns that off for itself.
        env = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        meson_suites("build-asan", "unit", "fuzz", "sim", env=env)


def tier_thread():
    options = ("-Db_sanitize=thread", "-Db_lundef=false")
    if build("build-tsan", *options):
        env = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
        meson_suites("build-tsan", "threads", env=env)


def tier_clang():
    if not shutil.which("clang"):
        skip("clang", "clang is not installed")
    elif build("build-clang", "-Dwerror_all=true", env={"CC": "clang", "CXX": "clang++"}):
        count(True, "clang builds without a warning")


def tier_sim():
    if build("build-test", "-Dwerror_all=true"):
        meson_suites("build-test", "sim")


def tier_fuzz():
    if build("build-test", "-Dwerror_all=true"):
        meson_suites("build-test", "fuzz")


def tier_integration():
    if not os.path.exists(PYTHON):
        skip("integration", "the Python clients are not installed: ./dev test fetches them")
        return
    if not build("build-test", "-Dwerror_all=true"):
        return
    env = {**os.environ, "KLAMM": os.path.abspath("build-test/klamm")}
    for name in sorted(os.listdir("tests/integration")):
        if not name.startswith("test_") or not name.endswith(".py"):
            continue
        result = run([PYTHON, "tests/integration/" + name], seconds=900, env=env)
        closing = re.findall(r"^(\d+) passed, (\d+) failed", result.stdout, re.M)
        for line in result.stdout.splitlines():
            if line.startswith("ok "):
                count(True, line)
            elif line.startswith("FAIL"):
                count(False, f"{name}: {line[4:].strip()}")
            elif line.startswith("SKIP"):
                skip(name, line[4:].strip())
        if not closing or result.returncode and closing[-1][1] == "0":
            count(False, name + " ended early", result.stdout[-3000:])


TIERS = {name[5:]: function for name, function in list(globals().items())
         if name.startswith("tier_")}
DEFAULT = ["rules", "format", "docs", "unit", "fuzz", "sim", "integration", "sanitize", "thread",
           "clang"]


def main():
    wanted = sys.argv[1:]
    if wanted == ["--list"]:
        print("\n".join(TIERS))
        return
    unknown = [t for t in wanted if t not in TIERS]
    if unknown:
        sys.exit(f"run.py: no tier {' '.join(unknown)}; there are: {' '.join(TIERS)}")
    for tier in wanted or DEFAULT:
        began, before = time.time(), (passed, failed, skipped)
        TIERS[tier]()
        now = (passed, failed, skipped)
        p, f, s = (b - a for a, b in zip(before, now))
        print(f"-- {tier}: {p} ok, {f} bad, {s} skipped, {time.time() - began:.0f} s", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or (skipped and os.environ.get("CI")) else 0)


main()
