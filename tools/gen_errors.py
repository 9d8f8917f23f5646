#!/usr/bin/env python3
"""Writes the error table as an X-macro from schema/error-codes.tsv.

usage: gen_errors.py error-codes.tsv OUT.h
Each line of the output is KLAMM_ERROR(NAME, code, retriable).
"""
import sys


def main():
    source, target = sys.argv[1:3]
    rows = [line.rstrip("\n").split("\t") for line in open(source, encoding="utf-8")]
    head, rows = rows[0], rows[1:]
    name, code, retriable = (head.index(c) for c in ("name", "code", "retriable"))
    with open(target, "w", encoding="utf-8") as out:
        for row in rows:
            flag = 1 if row[retriable] == "yes" else 0
            out.write(f"KLAMM_ERROR({row[name]}, {row[code]}, {flag})\n")


main()
