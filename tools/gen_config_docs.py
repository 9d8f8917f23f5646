#!/usr/bin/env python3
"""Writes docs/CONFIGURATION.md from the tables of schema/.

usage: gen_config_docs.py            writes the page
       gen_config_docs.py --check    fails when the committed page is not what would be written
"""
import os
import sys

import conf_schema

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "CONFIGURATION.md")

HEAD = """# Configuration

<!-- Made by tools/gen_config_docs.py from schema/. Do not edit: run it again. -->

Klamm reads the `server.properties` of Apache Kafka 4.4 as it is: the same keys, types, defaults, allowed values, dynamic
updates and errors. This page lists every key and what it does in Klamm:

- **effective**: works as in Kafka.
- **accepted**: read, checked and shown by DescribeConfigs; has no effect by design, for the reason given. A start with such
  a key set says so once, without alarm.
- **plugin**: names Java code, which Klamm does not load. A start with such a key set to other than its default says so once.
- **later**: read, checked and shown; what it controls is not built yet. A start with such a key set says so once.

`update` says how a value can change while a node runs: *read-only* (only in the file), *per-broker* (for one broker),
*cluster-wide* (for one broker or as default for all). Dynamic values live in the metadata log and win over the file:
broker, then cluster default, then file, then default. Sensitive values (type password) are never shown. Keys without
meaning to Kafka or Klamm are ignored, and said once at start.

Keys of the form `listener.name.<listener>.<key>` (and `...<listener>.<mechanism>.sasl.jaas.config` and the like; the
listener's name in lower case) are read, altered and shown as in Kafka, but none has an effect yet: every listener works
by the key itself, `num.network.threads` and so on. A start names those that are set, and those whose listener is neither
in `listeners` nor in `controller.listener.names`.

Keys that give one value together, the first that is set counts: `log.retention.ms`, else `log.retention.minutes`, else
`log.retention.hours`; `log.roll.ms`, else `log.roll.hours`; `log.flush.interval.ms`, else
`log.flush.scheduler.interval.ms`; `log.dirs`, else `log.dir`; `node.id`, else `broker.id`.

## Keys of Klamm's own

| key | type | default | what |
| --- | --- | --- | --- |
| klamm.advertise.as.reached | boolean | false | answers name the address by which the client reached the node, instead of `advertised.listeners`; for one node only |
"""


def code(text):
    return f"`{text}`" if text else "-"


def default(row):
    if row["default"] == "(required)":
        return "required"
    if row["default"] in ("null", '""'):
        return row["default"]
    return code(row["default"])


def valid(row):
    text = "-" if row["type"] == "boolean" else row["valid"]
    return text.replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def fallbacks(row):
    parts = [code(name) + (f" x {factor}" if factor > 1 else "")
             for name, factor in conf_schema.read_fallbacks(row)]
    return ", ".join(parts) or "-"


def page(tables):
    broker = [row for row in tables["broker"] if row["internal"] == "no"]
    counts = {kind: sum(row["support"] == kind for row in broker) for kind in conf_schema.SUPPORT}
    lines = [HEAD, "## Broker keys", "",
             f"{len(broker)} keys: {counts['effective']} effective, {counts['accepted']} accepted, "
             f"{counts['plugin']} plugin, {counts['later']} later.", ""]
    lines += table(
        ["key", "type", "default", "allowed", "update", "in Klamm"],
        [[code(row["name"]), row["type"], default(row), valid(row), row["update"],
          row["support"] + ("" if row["note"] == "-" else f": {row['note']}")] for row in broker])
    for kind, title, text in (
            ("topic", "Topic keys", "A topic without a value of its own takes that of the broker "
             "keys in the last column, the first that is set."),
            ("group", "Group keys", "Settings of one consumer, share or streams group; the broker "
             "key in the last column gives the default."),
            ("client-metrics", "Client metrics keys", "Settings of a client metrics "
             "subscription.")):
        rows = [row for row in tables[kind] if row["internal"] == "no"]
        lines += ["", f"## {title}", "", text, ""]
        lines += table(["key", "type", "default", "allowed", "broker keys"],
                       [[code(row["name"]), row["type"], default(row), valid(row),
                         fallbacks(row)] for row in rows])
    return "\n".join(lines) + "\n"


def main():
    text = page(conf_schema.load(os.path.join(ROOT, "schema")))
    if sys.argv[1:] == ["--check"]:
        with open(PAGE, encoding="utf-8") as old:
            if old.read() != text:
                raise SystemExit("docs/CONFIGURATION.md is out of date: run tools/gen_config_docs.py")
        return
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    with open(PAGE, "w", encoding="utf-8") as out:
        out.write(text)


main()
