#!/usr/bin/env python3
"""What ./dev compat and .ci/run rest on (tests/parts.py): no part hides another one's failure.

usage: test_parts.py
"""
import os
import subprocess
import sys
import unittest

PARTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "parts.py")


def parts(*scripts, options=()):
    """Status, all lines and the last line of a run of these shell scripts."""
    words = []
    for number, script in enumerate(scripts):
        words += ["+"] * (number > 0) + [f"part{number}", "sh", "-c", script]
    result = subprocess.run([sys.executable, PARTS, *options, *words], capture_output=True,
                            text=True, timeout=60, check=False)
    lines = result.stdout.splitlines()
    return result.returncode, lines, lines[-1]


class Parts(unittest.TestCase):
    def test_sums(self):
        status, lines, last = parts("echo ok; echo 3 passed, 0 failed", "echo 4 passed, 0 failed, 1 skipped")
        self.assertEqual((status, last), (0, "7 passed, 0 failed"))
        self.assertIn("-- part0: 3 passed, 0 failed", lines)
        self.assertEqual([l for l in lines if l[0].isdigit()], [last])

    def test_every_closing_line_counts(self):
        status, _, last = parts("echo 3 passed, 2 failed; echo 1 passed, 0 failed; exit 1",
                                "echo 10 passed, 0 failed")
        self.assertEqual((status, last), (1, "14 passed, 2 failed"))

    def test_a_failed_part_does_not_stop_the_next(self):
        status, lines, last = parts("echo 1 passed, 1 failed; exit 1", "echo 5 passed, 0 failed")
        self.assertEqual((status, last), (1, "6 passed, 1 failed"))
        self.assertIn("== part1", lines)

    def test_a_part_that_breaks_off(self):
        for script in ("echo nothing", "exit 3", "echo 2 passed, 0 failed; exit 3", "kill -9 $$",
                       "exec /no/such/program"):
            status, lines, last = parts(script, "echo 5 passed, 0 failed")
            self.assertEqual(status, 1, script)
            self.assertRegex(last, r"^[57] passed, 1 failed$")
            self.assertTrue(any(l.startswith("FAIL  part0") for l in lines), lines)

    def test_a_part_that_hangs(self):
        status, lines, last = parts("echo 1 passed, 0 failed; sleep 50", "echo 5 passed, 0 failed",
                                    options=("--seconds", "1"))
        self.assertEqual((status, last), (1, "6 passed, 1 failed"))
        self.assertIn("FAIL  part0 did not end within 1 s", lines)

    def test_nothing_passed_is_no_success(self):
        self.assertEqual(parts("echo 0 passed, 0 failed")[0], 1)

    def test_compat_names_every_program(self):
        """A program in tests/compat that closes with its sums is a part of ./dev compat."""
        root = os.path.dirname(os.path.dirname(PARTS))
        with open(os.path.join(root, "dev"), encoding="utf-8") as file:
            compat = file.read().split("\ncompat)")[1].split(";;")[0]
        for name in os.listdir(os.path.join(root, "tests", "compat")):
            path = os.path.join(root, "tests", "compat", name)
            if name.endswith(".py") and "nodes.finish()" in open(path, encoding="utf-8").read():
                self.assertIn(f"+ {name[:-3]} " if name != "run.py" else "answers ", compat)

    def test_wrong_words(self):
        for words in ([], ["name"], ["name", "true", "+"]):
            result = subprocess.run([sys.executable, PARTS, *words], capture_output=True, check=False)
            self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
