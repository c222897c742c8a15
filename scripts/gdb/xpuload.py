# SPDX-License-Identifier: GPL-3.0-or-later
"""gdb -x scripts/gdb/xpuload.py: prints the containers of lib/ and the records of a recording

(gdb) print s->paths			ARRAY: its elements, not a pointer and two numbers

(gdb) print s->strings			struct strpool: the strings

(gdb) print tables->paths		struct idmap: key = value

(gdb) print *rec			struct xpu_record: the whole record of this header

(gdb) print/r ...			as gdb itself prints it
"""
import gdb

MAX_BYTES = 1 << 20  # of one string or record: memory may be damaged


def records():
    """Returns {number of a type: (name, struct)} of enum xpu_record_type."""
    structs, found = {"FORK": "task", "EXIT": "task", "MEMCPY": "memory", "MEMSET": "memory"}, {}
    try:
        fields = gdb.lookup_type("enum xpu_record_type").fields()
    except gdb.error:  # the program has been built without its debug information
        return found
    for field in fields:
        name = field.name.replace("XPU_RECORD_", "")
        try:
            struct = gdb.lookup_type("struct xpu_record_" + structs.get(name, name.lower()))
        except gdb.error:
            struct = None
        found[int(field.enumval)] = name, struct
    return found


class Array:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"ARRAY of {int(self.value['nr'])} (room for {int(self.value['cap'])})"

    def children(self):
        for i in range(int(self.value["nr"])):
            yield f"[{i}]", self.value["v"][i]

    def display_hint(self):
        return "array"


class Strpool:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"strpool of {int(self.value['nr'])} strings"

    def children(self):
        nr = 0
        for i in range(int(self.value["nr_slots"])):
            copy = self.value["slots"][i]["s"]
            if int(copy):
                yield f"[{nr}]", copy
                nr += 1

    def display_hint(self):
        return "array"


class Idmap:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"idmap of {int(self.value['nr'])} ids"

    def children(self):
        for i in range(int(self.value["nr_slots"])):
            slot = self.value["slots"][i]
            if int(slot["used"]):
                yield f"[{int(slot['key']):#x}]", slot["value"]


class Record:
    """Prints the whole record that a header begins."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind, size = int(self.value["type"]), int(self.value["size"])
        name, struct = records().get(kind, (f"type {kind}", None))
        text = f"{name} misc={int(self.value['misc']):#x} size={size}"
        if not struct or not self.value.address or not struct.sizeof <= size <= MAX_BYTES:
            return text
        whole = self.value.address.cast(struct.pointer()).dereference()
        for field in struct.fields()[1:]:
            # An array of unknown size follows the fixed part.
            if field.name.startswith("reserved") or not field.type.sizeof:
                continue
            text += f" {field.name}={whole[field.name]}"
        return text


def find(value):
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return None
    if not kind.tag and [field.name for field in kind.fields()] == ["v", "nr", "cap"]:
        return Array(value)
    printer = {"strpool": Strpool, "idmap": Idmap, "xpu_record": Record}.get(kind.tag)
    return printer(value) if printer else None


gdb.pretty_printers.append(find)
