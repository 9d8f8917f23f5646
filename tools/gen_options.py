#!/usr/bin/env python3
"""The options of `klamm server`, from schema/server-options.tsv: the table for --help (at build time)
and the section of the man page docs/man/klamm.1.

usage: gen_options.py server-options.tsv OUT.inc    writes SERVER_OPTION(option, argument, text) lines
       gen_options.py [--check]                     renews the man page, or checks that it is up to date
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "schema", "server-options.tsv")
MAN = os.path.join(ROOT, "docs", "man", "klamm.1")
BEGIN, END = '.\\" options: made by tools/gen_options.py', '.\\" end of options'


def rows(path):
    lines = [l.rstrip("\n").split("\t") for l in open(path, encoding="utf-8")]
    return lines[1:]


def man_section():
    parts = []
    for option, argument, text in rows(TABLE):
        name = option.replace("-", "\\-")
        head = f'.BI {name} " {argument}"' if argument else f".B {name}"
        parts.append(f".TP\n{head}\n{text}")
    return "\n".join(parts)


def main():
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w", encoding="utf-8") as out:
            for row in rows(sys.argv[1]):
                out.write("SERVER_OPTION(%s)\n" % ", ".join(f'"{c}"' for c in row))
        return
    old = open(MAN, encoding="utf-8").read()
    new, count = re.subn(re.escape(BEGIN) + r"\n.*?" + re.escape(END),
                         lambda m: f"{BEGIN}\n{man_section()}\n{END}", old, flags=re.S)
    if count != 1:
        sys.exit("gen_options.py: the marks for the options must stand once in docs/man/klamm.1")
    if sys.argv[1:] == ["--check"]:
        if old != new:
            sys.exit("docs/man/klamm.1 is not up to date: run tools/gen_options.py")
        return
    with open(MAN, "w", encoding="utf-8") as out:
        out.write(new)


main()
