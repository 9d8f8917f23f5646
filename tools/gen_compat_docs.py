#!/usr/bin/env python3
"""Writes the table of APIs in docs/COMPATIBILITY.md from the API table (schema/api-keys.tsv), the
handlers in src/api (API_FAMILY) and the accepted differences of tests/compat/differences.py.

usage: gen_compat_docs.py [--check]    --check: fails when the committed file is not up to date
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(ROOT, "docs", "COMPATIBILITY.md")
BEGIN, END = "<!-- generated: {} -->", "<!-- end -->"


def rows_of(path):
    lines = [l.rstrip("\n").split("\t") for l in open(path, encoding="utf-8")]
    return [dict(zip(lines[0], l)) for l in lines[1:]]


def key_names():
    """{"WIRE_API_PRODUCE": 0, ...}, as the enum in wire_api_keys.h has them."""
    return {"WIRE_API_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", row["name"]).upper():
            int(row["key"]) for row in rows_of(os.path.join(ROOT, "schema", "api-keys.tsv"))}


def served():
    """{key: set of listeners} from the handler tables."""
    found, names = {}, key_names()
    folder = os.path.join(ROOT, "src", "api")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".c"):
            continue
        text = open(os.path.join(folder, name), encoding="utf-8").read()
        for family in re.findall(r"^API_FAMILY\((.*?)\);", text, re.S | re.M):
            for key, listeners in re.findall(r"\{\s*(\w+)\s*,\s*([A-Z_|\s]+?)\s*,", family):
                found[names[key]] = {"broker" if "BROKER" in l else "controller"
                                   for l in listeners.split("|")}
    return found


def api_table():
    have = served()
    lines = ["| key | API | versions of 4.4.0 | broker listener | controller listener |",
             "| --- | --- | --- | --- | --- |"]
    for row in rows_of(os.path.join(ROOT, "schema", "api-keys.tsv")):
        if row["versions"] == "none":
            continue
        key, listeners = int(row["key"]), row["listeners"].split(",")
        cells = []
        for listener in ("broker", "controller"):
            cells.append("–" if listener not in listeners else
                         "served" if listener in have.get(key, ()) else "not yet")
        lines.append(f"| {key} | {row['name']} | {row['stable_versions']} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def difference_table():
    scope = {}
    path = os.path.join(ROOT, "tests", "compat", "differences.py")
    exec(compile(open(path, encoding="utf-8").read(), path, "exec"), scope)
    reasons = []
    for rule in scope["RULES"]:
        if rule[2] not in reasons:
            reasons.append(rule[2])
    return "\n".join(f"- {reason}" for reason in reasons) or "None."


def render(text):
    for name, body in (("apis", api_table()), ("differences", difference_table())):
        begin = BEGIN.format(name)
        pattern = re.escape(begin) + r".*?" + re.escape(END)
        text, count = re.subn(pattern, lambda m, b=begin, t=body: f"{b}\n{t}\n{END}", text,
                              flags=re.S)
        if count != 1:
            sys.exit(f"gen_compat_docs.py: {begin} must stand once in docs/COMPATIBILITY.md")
    return text


def main():
    old = open(TARGET, encoding="utf-8").read()
    new = render(old)
    if sys.argv[1:] == ["--check"]:
        if old != new:
            sys.exit("docs/COMPATIBILITY.md is not up to date: run tools/gen_compat_docs.py")
        return
    with open(TARGET, "w", encoding="utf-8") as out:
        out.write(new)


main()
