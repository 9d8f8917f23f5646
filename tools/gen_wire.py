#!/usr/bin/env python3
"""Makes the C structs and tables of Kafka's messages from schema/ (its grammar: schema/README.md).

usage: gen_wire.py --outputs SCHEMA_DIR      names of the files that would be written, tables last
       gen_wire.py --inputs SCHEMA_DIR       names of the files that are read
       gen_wire.py SCHEMA_DIR OUT_DIR        writes them

Output: one header per API (request and response) and per record folder with the structs, externs and
_new helpers; wire_messages.h that includes all; wire_api_keys.h; wire_apis.inc; wire_tables.c with
the tables that src/wire/codec.c interprets. Tables refer to each other by index, never by pointer, so
that they lie in .rodata without relocations.
"""
import os
import re
import sys

SCALARS = {
    "bool": ("bool", 1), "int8": ("int8_t", 1), "int16": ("int16_t", 2), "int32": ("int32_t", 4),
    "int64": ("int64_t", 8), "uint16": ("uint16_t", 2), "uint32": ("uint32_t", 4),
    "float64": ("double", 8), "uuid": ("struct uuid", 16), "string": ("struct slice", 0),
    "bytes": ("struct slice", 0), "records": ("struct wire_records", 0),
}
NONE = (1, 0)
VERSION_MAX = 254
FLEXIBLE_NEVER = 255
# The keys whose ApiVersions entry depends on a plug-in being there.
TELEMETRY = {"GetTelemetrySubscriptions", "PushTelemetry"}
# Announced from a lower version than is served: old librdkafka picks its features by these.
ANNOUNCED_FIRST = {"Produce": 0}


def snake(name):
    name = name.replace("KRaft", "Kraft")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name):
    return name[0].lower() + name[1:]


def parse_range(text):
    if text in (None, "none"):
        return NONE
    if text.endswith("+"):
        return int(text[:-1]), VERSION_MAX
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def both(a, b):
    first, last = max(a[0], b[0]), min(a[1], b[1])
    return (first, last) if first <= last else NONE


class Field:
    def __init__(self, words):
        self.name, self.type = words[:2]
        options = dict(w.partition("=")[::2] for w in words[2:])
        self.array = self.type.startswith("[]")
        self.base = self.type.removeprefix("[]")
        self.nullable = parse_range(options.get("nullable"))
        self.tagged = parse_range(options.get("tagged"))
        self.versions = parse_range(options.get("versions", options.get("tagged")))
        self.tag = int(options.get("tag", 0))
        self.default = options.get("default")
        self.ignorable = "ignorable" in options
        self.never_compact = options.get("flexible") == "none"
        self.struct = None  # the Struct when base is one
        self.fields = []    # of a struct defined in place

    @property
    def c_name(self):
        return snake(self.name)

    @property
    def pointer(self):
        """A struct that may be null."""
        return bool(self.struct) and not self.array and self.nullable != NONE


class Struct:
    def __init__(self, name, c_name, fields):
        self.name, self.c_name, self.fields = name, c_name, fields
        self.index = None


class Message:
    def __init__(self, path, folder):
        self.folder = folder
        self.structs = []  # inner ones first
        tops, stack, shared = [], [], {}
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if not words:
                    continue
                depth = (len(line) - len(line.lstrip())) // 2
                if depth == 0:
                    fields = []
                    if words[0] == "message":
                        self.name = words[1]
                        self.options = dict(w.partition("=")[::2] for w in words[2:])
                        tops = fields
                    else:
                        shared[words[1]] = fields
                    stack = [fields]
                else:
                    field = Field(words)
                    del stack[depth:]
                    stack[depth - 1].append(field)
                    stack.append(field.fields)
        self.c_name = snake(self.name)
        self.versions = parse_range(self.options["versions"])
        self.flexible = parse_range(self.options.get("flexible"))
        self.key = int(self.options.get("key", -1))
        self.kind = self.options["kind"]
        self.shared, self.by_name = shared, {}
        if self.versions != NONE:
            self.root = self.add_struct(self.name, self.c_name, tops)

    def add_struct(self, name, c_name, fields):
        struct = Struct(name, c_name, fields)
        for field in fields:
            if field.base not in SCALARS:
                field.struct = self.struct_of(field)
        self.structs.append(struct)
        return struct

    def struct_of(self, field):
        """The struct a field names: defined below the field, or shared. Cycles are refused."""
        if field.base not in self.by_name:
            fields = field.fields or self.shared[field.base]
            self.by_name[field.base] = None
            self.by_name[field.base] = self.add_struct(
                field.base, f"{self.c_name}_{snake(field.base)}", fields)
        if self.by_name[field.base] is None:
            sys.exit(f"{self.name}: struct {field.base} holds itself")
        return self.by_name[field.base]

    @property
    def header(self):
        if self.folder != "protocol":
            return f"wire_{snake(self.folder)}_records.h"
        family = re.sub(r"(Request|Response)$", "", self.name)
        if self.kind == "header":
            family = "Header"
        elif family.startswith("ConsumerProtocol"):
            family = "ConsumerProtocol"
        return f"wire_{snake(family)}.h"


def min_size(struct, version, flexible):
    """The fewest bytes a struct takes on the wire in this version."""
    size = 1 if flexible else 0
    for f in struct.fields:
        if not within(f.versions, version) or within(f.tagged, version):
            continue
        compact = flexible and not f.never_compact
        if f.array:
            size += 1 if compact else 4
        elif f.struct:
            size += 1 if within(f.nullable, version) else min_size(f.struct, version, flexible)
        elif SCALARS[f.base][1]:
            size += SCALARS[f.base][1]
        else:
            size += 1 if compact else 2 if f.base == "string" else 4
    return size


def within(versions, version):
    return versions[0] <= version <= versions[1]


def load(schema_dir):
    """All messages that still have a version, protocol first, in the order of their names."""
    messages = []
    for path in input_files(schema_dir):
        parts = path.split("/")
        if path.endswith(".txt"):
            folder = "protocol" if parts[0] == "messages" else parts[1]
            messages.append(Message(os.path.join(schema_dir, path), folder))
    return [m for m in messages if m.versions != NONE]


def input_files(schema_dir):
    paths = ["api-keys.tsv"]
    for top in ("messages", "records"):
        for base, dirs, names in os.walk(os.path.join(schema_dir, top)):
            dirs.sort()
            paths += [os.path.relpath(os.path.join(base, n), schema_dir)
                      for n in sorted(names) if n.endswith(".txt")]
    return paths


def read_apis(schema_dir):
    with open(os.path.join(schema_dir, "api-keys.tsv"), encoding="utf-8") as lines:
        head, *rows = [line.rstrip("\n").split("\t") for line in lines]
    return [dict(zip(head, row)) for row in rows]


def output_files(messages):
    headers = sorted({m.header for m in messages})
    return ["wire_api_keys.h", "wire_apis.inc"] + headers + ["wire_messages.h", "wire_tables.c"]


def c_members(struct):
    for f in struct.fields:
        kind = f"struct {f.struct.c_name}" if f.struct else SCALARS[f.base][0]
        if f.array:
            yield f"{kind} *{f.c_name};"
            yield f"int32_t {f.c_name}_count;"
        else:
            yield f"{kind} {'*' if f.pointer else ''}{f.c_name};"


def version_note(field):
    def show(v):
        return f"{v[0]}+" if v[1] == VERSION_MAX else f"{v[0]}-{v[1]}" if v[0] != v[1] else str(v[0])
    notes = [show(field.versions)] if field.versions != (0, VERSION_MAX) else []
    if field.nullable != NONE:
        notes.append(f"null {show(field.nullable)}")
    if field.default is not None:
        notes.append(f"default {field.default}")
    return f" /* {', '.join(notes)} */" if notes else ""


def new_helper(struct, field):
    kind = f"struct {field.struct.c_name}" if field.struct else SCALARS[field.base][0]
    if field.struct:
        items = f"wire_items_new(arena, {field.struct.index}, count)"
    elif field.base == "string":
        items = "wire_strings_new(arena, count)"
    else:
        items = f"arena_array(arena, (size_t)count, sizeof({kind}))"
    return (f"static inline {kind} *{struct.c_name}_{field.c_name}_new("
            f"struct arena *arena, struct {struct.c_name} *parent, int32_t count)\n"
            "{\n"
            f"    parent->{field.c_name} = {items};\n"
            f"    parent->{field.c_name}_count = count;\n"
            f"    return parent->{field.c_name};\n"
            "}\n")


def header_text(name, messages):
    guard = "KLAMM_" + name.upper().replace(".", "_")
    out = ["/* Made by tools/gen_wire.py; how to use it: wire/codec.h. */",
           f"#ifndef {guard}", f"#define {guard}", "", '#include "wire/codec.h"', ""]
    for m in messages:
        out.append(f"extern const struct wire_schema wire_{m.c_name};")
    for m in messages:
        out.append(f"\n/* {m.name} {m.options['versions']} */")
        for struct in m.structs:
            out.append(f"struct {struct.c_name} {{")
            for f in struct.fields:
                *lines, last = [text for text in c_members(Struct("", "", [f]))]
                out += [f"    {line}" for line in lines] + [f"    {last}{version_note(f)}"]
            if not struct.fields:
                out.append("    char empty; /* C wants a member */")
            out.append("};\n")
        for struct in m.structs:
            out += [new_helper(struct, f) for f in struct.fields if f.array]
    out.append("#endif")
    return "\n".join(out) + "\n"


class Tables:
    """The pools that the interpreter's tables index."""

    def __init__(self, messages):
        self.names, self.name_at, self.names_size = [], {}, 0
        self.fields, self.structs, self.tagged, self.sizes = [], [], [], []
        for m in messages:
            for struct in m.structs:
                self.add_struct(m, struct)
        if max(self.names_size, len(self.fields), len(self.sizes)) > 65535:
            sys.exit("tables outgrew 16-bit indexes")

    def name(self, text):
        if text not in self.name_at:
            self.name_at[text] = self.names_size
            self.names.append(text)
            self.names_size += len(text) + 1
        return self.name_at[text]

    def add_struct(self, message, struct):
        first = len(self.fields)
        for f in struct.fields:
            self.fields.append(self.field_row(struct, f))
        tagged_first = len(self.tagged)
        tagged = [(f.tag, first + i) for i, f in enumerate(struct.fields) if f.tagged != NONE]
        if len({tag for tag, _ in tagged}) != len(tagged):
            sys.exit(f"{struct.c_name}: a tag is given twice")
        self.tagged += [index for _, index in sorted(tagged)]
        sizes = [min(255, min_size(struct, v, within(message.flexible, v)))
                 for v in range(message.versions[0], message.versions[1] + 1)]
        size = f"sizeof(struct {struct.c_name})"
        self.structs.append(f"{{{first}, {len(struct.fields)}, {tagged_first}, {len(tagged)}, "
                            f"{len(self.sizes)}, {message.versions[0]}, {size}}}, /* {struct.c_name} */")
        self.sizes += sizes

    def field_row(self, struct, f):
        flags = [name for on, name in (
            (f.array, "WIRE_ARRAY"), (f.pointer, "WIRE_POINTER"), (f.ignorable, "WIRE_IGNORABLE"),
            (f.never_compact, "WIRE_NEVER_COMPACT"),
            (f.default == "null" and f.nullable != NONE, "WIRE_DEFAULT_NULL")) if on]
        kind = "STRUCT" if f.struct else f.base.upper()
        return (f"{{{self.name(camel(f.name))}, offsetof(struct {struct.c_name}, {f.c_name}), "
                f"{f.struct.index if f.struct else 0}, WIRE_{kind}, {' | '.join(flags) or 0}, "
                f"{f.versions[0]}, {f.versions[1]}, {f.nullable[0]}, {f.nullable[1]}, "
                f"{f.tagged[0]}, {f.tagged[1]}, {f.tag}, {self.preset(f)}}},")

    @staticmethod
    def preset(f):
        if f.array or f.struct or f.base in ("string", "bytes", "records", "uuid"):
            if f.default not in (None, "null", '""'):
                sys.exit(f"{f.name}: default {f.default} is not supported")
            return 0
        if f.default in (None, "false"):
            return 0
        if f.default == "true":
            return 1
        value = int(f.default, 0)
        return "INT64_MIN" if value == -2**63 else value


def tables_text(messages):
    tables = Tables(messages)
    rows = []
    for m in messages:
        kind = {"request": "REQUEST", "response": "RESPONSE", "header": "HEADER", "data": "DATA",
                "metadata": "METADATA", "coordinator-key": "COORDINATOR_KEY",
                "coordinator-value": "COORDINATOR_VALUE"}[m.kind]
        flexible = m.flexible[0] if m.flexible != NONE else FLEXIBLE_NEVER
        rows.append(f"const struct wire_schema wire_{m.c_name} = {{{tables.name(m.name)}, "
                    f"{m.root.index}, {m.key}, WIRE_{kind}, {m.versions[0]}, {m.versions[1]}, "
                    f"{flexible}, {folder_constant(m.folder)}}};")
    out = ["/* Made by tools/gen_wire.py. */", '#include "wire/tables.h"',
           '#include "wire_messages.h"', "", "const char wire_names[] ="]
    out += [f'    "{name}\\0"' for name in tables.names]
    out += ["    ;", "", "const struct wire_field wire_fields[] = {"]
    out += [f"    {row}" for row in tables.fields]
    out += ["};", "", "const struct wire_struct wire_structs[] = {"]
    out += [f"    {row}" for row in tables.structs]
    out += ["};", "", "const uint16_t wire_tagged[] = {"]
    out += [f"    {index}," for index in tables.tagged]
    out += ["};", "", "const uint8_t wire_sizes_min[] = {"]
    out += [f"    {size}," for size in tables.sizes]
    out += ["};", ""] + rows
    out += ["", "const struct wire_schema *const wire_schemas[] = {"]
    out += [f"    &wire_{m.c_name}," for m in messages]
    out += ["};", f"const size_t wire_schemas_count = {len(messages)};"]
    folders = list(dict.fromkeys(m.folder for m in messages))
    firsts = [next(i for i, m in enumerate(messages) if m.folder == f) for f in folders]
    out += ["", "const uint16_t wire_folder_first[] = {"]
    out += [f"    [{folder_constant(f)}] = {first}," for f, first in zip(folders, firsts)]
    out += [f"    {len(messages)},", "};"]
    return "\n".join(out) + "\n"


def folder_constant(folder):
    return "WIRE_METADATA_LOG" if folder == "metadata" else "WIRE_" + folder.upper()


def api_keys_text(apis):
    out = ["/* Made by tools/gen_wire.py from schema/api-keys.tsv. Removed keys stay listed. */",
           "#ifndef KLAMM_WIRE_API_KEYS_H", "#define KLAMM_WIRE_API_KEYS_H", "",
           "enum wire_api_key {"]
    out += [f"    WIRE_API_{api['enum']} = {api['key']}," for api in apis]
    return "\n".join(out + ["};", "", "#endif"]) + "\n"


def apis_text(apis):
    out = ["/* Made by tools/gen_wire.py from schema/api-keys.tsv. */"]
    for api in apis:
        first, last = parse_range(api["versions"])
        if (first, last) == NONE:
            continue
        stable = parse_range(api["stable_versions"])[1]
        flexible = parse_range(api["flexible"])
        listeners = api["listeners"].split(",")
        flags = [name for on, name in (
            ("broker" in listeners, "WIRE_API_ON_BROKER"),
            ("controller" in listeners, "WIRE_API_ON_CONTROLLER"),
            (api["cluster_action"] == "yes", "WIRE_API_CLUSTER_ACTION"),
            (api["forwardable"] == "yes", "WIRE_API_FORWARDABLE"),
            (api["name"] in TELEMETRY, "WIRE_API_TELEMETRY")) if on]
        name = api["name"]
        out.append(f'{{{api["key"]}, "{name}", "{api["enum"]}", {first}, {last}, {stable}, '
                   f'{ANNOUNCED_FIRST.get(name, first)}, '
                   f'{flexible[0] if flexible != NONE else "INT16_MAX"}, {" | ".join(flags)}, '
                   f"&wire_{snake(name)}_request, &wire_{snake(name)}_response}},")
    return "\n".join(out) + "\n"


def check_names(messages):
    """No struct, helper or member may be made twice: they share C's namespaces."""
    def once(seen, name, where):
        if name in seen:
            sys.exit(f"{where}: {name} would be defined twice")
        seen.add(name)

    structs, helpers = set(), set()
    for m in messages:
        for struct in m.structs:
            once(structs, struct.c_name, m.name)
            members = set()
            for f in struct.fields:
                once(members, f.c_name, struct.c_name)
                if f.array:
                    once(members, f.c_name + "_count", struct.c_name)
                    once(helpers, f"{struct.c_name}_{f.c_name}_new", m.name)


def main():
    if sys.argv[1] == "--inputs":
        print("\n".join(input_files(sys.argv[2])))
        return
    if sys.argv[1] == "--outputs":
        print("\n".join(output_files(load(sys.argv[2]))))
        return
    schema_dir, out_dir = sys.argv[1:3]
    messages, apis = load(schema_dir), read_apis(schema_dir)
    check_names(messages)
    for index, struct in enumerate(s for m in messages for s in m.structs):
        struct.index = index
    headers = sorted({m.header for m in messages})
    files = {h: header_text(h, [m for m in messages if m.header == h]) for h in headers}
    files["wire_messages.h"] = ("/* Made by tools/gen_wire.py: every message and record. */\n"
                                "#ifndef KLAMM_WIRE_MESSAGES_H\n#define KLAMM_WIRE_MESSAGES_H\n\n"
                                + "".join(f'#include "{h}"\n' for h in headers) + "\n#endif\n")
    files["wire_api_keys.h"] = api_keys_text(apis)
    files["wire_apis.inc"] = apis_text(apis)
    files["wire_tables.c"] = tables_text(messages)
    for name, text in files.items():
        with open(os.path.join(out_dir, name), "w", encoding="utf-8") as out:
            out.write(text)


main()
