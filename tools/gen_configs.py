#!/usr/bin/env python3
"""Writes the configuration tables as C from schema/configs-*.tsv and schema/config-support.tsv.

usage: gen_configs.py SCHEMA_DIR OUT_KEYS.h OUT_TABLE.inc
OUT_KEYS.h holds the enums of key ids, OUT_TABLE.inc one array of struct conf_key for each kind.
"""
import re
import sys

import conf_schema

PREFIX = {"broker": "BROKER_KEY_", "topic": "TOPIC_KEY_", "group": "GROUP_KEY_",
          "client-metrics": "METRICS_KEY_"}
ENUM = {"broker": "broker_key", "topic": "topic_key", "group": "group_key",
        "client-metrics": "metrics_key"}
UPDATE = {"read-only": "CONF_READ_ONLY", "per-broker": "CONF_PER_BROKER",
          "cluster-wide": "CONF_CLUSTER_WIDE"}


def ident(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def quote(text):
    return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_keys(tables, out):
    out.write("/* Made by tools/gen_configs.py. */\n")
    for kind, rows in tables.items():
        out.write(f"enum {ENUM[kind]} {{\n")
        for row in rows:
            out.write(f"    {PREFIX[kind]}{ident(row['name'])},\n")
        out.write("};\n")
        out.write(f"enum {{ {PREFIX[kind]}COUNT = {len(rows)} }};\n")


def valid_text(row, words_of):
    valid = conf_schema.read_valid(row)
    parts = [f".kind = CONF_VALID_{valid['kind']}"]
    if valid["kind"] == "RANGE":
        real = row["type"] == "double"
        for name in ("min", "max"):
            if valid[name] is not None:
                member = f"{name}" if real else f"{name}_i"
                parts.append(f".has_{name} = true, .{member} = {valid[name]}")
        if valid["or"] is not None:
            parts.append(f".has_or = true, .or_value = {valid['or']}")
    for member in ("distinct", "empty_ok", "null_ok"):
        if valid.get(member):
            parts.append(f".list_{member} = true")
    if valid.get("words"):
        words = ", ".join(quote(word) for word in valid["words"])
        parts.append(f".words = {words_of(words)}")
    return "{" + ", ".join(parts) + "}"


def write_table(tables, out):
    broker_ids = {row["name"]: n for n, row in enumerate(tables["broker"])}
    arrays = {}

    def array(type_name, text):
        """The name of a constant array with this content."""
        return arrays.setdefault((type_name, text), f"array_{len(arrays)}")

    bodies = []
    for kind, rows in tables.items():
        body = [f"static const struct conf_key table_{ENUM[kind]}s[] = {{\n"]
        for row in rows:
            back = conf_schema.read_fallbacks(row)
            for name, _ in back:
                if name not in broker_ids:
                    raise SystemExit(f"{row['name']}: falls back to unknown {name}")
            words = valid_text(row, lambda w: array("char *const", w + ", NULL"))
            parts = [f".name = {quote(row['name'])}",
                     f".default_text = {quote(conf_schema.default_text(row))}",
                     f".type = CONF_{row['type'].upper()}", f".valid = {words}"]
            if "update" in row:
                parts.append(f".update = {UPDATE[row['update']]}")
                parts.append(f".support = CONF_{row['support'].upper()}")
            else:
                parts.append(".update = CONF_CLUSTER_WIDE")
            if row["default"] == "(required)":
                parts.append(".required = true")
            if row["internal"] == "yes":
                parts.append(".internal = true")
            if back:
                ids = ", ".join(str(broker_ids[name]) for name, _ in back)
                parts.append(f".fallbacks = {array('int16_t', ids + ', -1')}")
                factors = ", ".join(str(factor) for _, factor in back)
                parts.append(f".factors = {array('int32_t', factors)}")
            body.append("    {" + ", ".join(parts) + "},\n")
        body.append("};\n")
        bodies.append("".join(body))
    out.write("/* Made by tools/gen_configs.py. */\n")
    for (type_name, text), name in arrays.items():
        out.write(f"static const {type_name} {name}[] = {{{text}}};\n")
    out.writelines(bodies)


def main():
    folder, keys, table = sys.argv[1:4]
    tables = conf_schema.load(folder)
    with open(keys, "w", encoding="utf-8") as out:
        write_keys(tables, out)
    with open(table, "w", encoding="utf-8") as out:
        write_table(tables, out)


main()
