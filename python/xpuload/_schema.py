# SPDX-License-Identifier: MIT
"""The tables of the summary and their columns, as doc/schema/summary.schema.json publishes them."""
import functools
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "summary.schema.json"


@functools.lru_cache(None)
def load():
    """Returns the schema: the wheel has it next to this file, the sources have it in doc/schema."""
    own = os.path.join(HERE, NAME)
    sources = os.path.join(HERE, "..", "..", "doc", "schema", NAME)
    with open(own if os.path.exists(own) else sources, encoding="utf-8") as f:
        return json.load(f)


def tables():
    """Returns the names of all tables of the summary, in the order of the output."""
    return [name for name in load()["properties"] if name != "account"]


def columns(table):
    """Returns the columns that each row of a table has: name to type."""
    of = load()["properties"][table]["items"]["properties"]
    return {name: kind["type"] if isinstance(kind["type"], str) else kind["type"][0]
            for name, kind in of.items()}
