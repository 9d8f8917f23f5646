#!/usr/bin/env python3
"""Runs several test programs one after another, whatever becomes of each, and closes with one line of
their sums: N passed, M failed. ./dev compat and .ci/run use it.

usage: parts.py [--seconds N] NAME COMMAND [ARG ...] [+ NAME COMMAND [ARG ...]] ...

What a part prints is passed on. Its lines "N passed, M failed" are counted, all of them (what follows on
such a line is not looked at), and shown with the part's name, so that the last line is the only one of
its kind. A part counts one failure when it ends without such a line, with a status that they do not explain,
or not within N seconds.
"""
import os
import re
import signal
import subprocess
import sys
import threading

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed")


def end(process, how):
    """The part and what it started: it leads a process group of its own."""
    try:
        os.killpg(process.pid, how)
    except ProcessLookupError:
        pass


def run(name, command, seconds):
    """Passed and failed of one part."""
    print(f"== {name}", flush=True)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    except OSError as e:
        print(f"FAIL  {name} cannot be run: {e}", flush=True)
        return 0, 1
    late = threading.Event()

    def too_long():
        late.set()
        end(process, signal.SIGKILL)

    timer = threading.Timer(seconds, too_long)
    timer.daemon = True
    timer.start()
    sums = []
    try:
        for line in process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            match = CLOSING.match(text)
            if match:
                sums.append((int(match.group(1)), int(match.group(2))))
                text = f"-- {name}: {text}"
            print(text, flush=True)
        status = process.wait()
    except KeyboardInterrupt:
        end(process, signal.SIGINT)
        process.wait()
        raise
    finally:
        timer.cancel()
    passed, failed = sum(p for p, _ in sums), sum(f for _, f in sums)
    if late.is_set():
        print(f"FAIL  {name} did not end within {seconds:g} s", flush=True)
        failed += 1
    elif not sums:
        print(f"FAIL  {name} ended with status {status} and no closing line", flush=True)
        failed += 1
    elif status and not failed:
        print(f"FAIL  {name} ended with status {status}", flush=True)
        failed += 1
    return passed, failed


def main():
    words, seconds = sys.argv[1:], 86400.0
    if words[:1] == ["--seconds"]:
        seconds, words = float(words[1]), words[2:]
    parts = [[]]
    for word in words:
        if word == "+":
            parts.append([])
        else:
            parts[-1].append(word)
    if any(len(part) < 2 for part in parts):
        sys.exit(__doc__)
    passed = failed = 0
    for name, *command in parts:
        p, f = run(name, command, seconds)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
