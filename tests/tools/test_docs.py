#!/usr/bin/env python3
"""What documents list by hand is what the program has."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Docs(unittest.TestCase):
    def test_operations_lists_every_logger(self):
        table = re.findall(r'\{"([\w.]+)", DIAG_(\w+)\}', text_of("src", "api", "loggers.c"))
        self.assertGreater(len(table), 20)
        rows = {}
        for names, module in re.findall(r"^\| (`.*?`) \| (.*?) \|$",
                                        text_of("docs", "OPERATIONS.md"), re.MULTILINE):
            for name in re.findall(r"`([\w.]+)`", names):
                rows[name] = module
        for name, module in table:
            if module == "ROOT":
                self.assertIn(name, rows)
            else:
                self.assertTrue(rows.get(name, "").startswith(f"`{module.lower()}`"), name)


if __name__ == "__main__":
    unittest.main()
