# SPDX-License-Identifier: MIT
"""python -m xpuload mcp: a Model Context Protocol server on standard input and output.

It answers questions about recordings with the tables of xpumerge. Each answer begins with the
recording's losses, and has a limited size. Nothing is written, and no network is used.

Source: Model Context Protocol, 2025-06-18: one JSON-RPC message in each line.
"""
import json
import os
import re
import sys

from xpuload import __version__
from xpuload import _schema
from xpuload._errors import XpuloadError
from xpuload.results import read

# A client that asks for another version is offered the first version.
VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
LINE_BYTES = 1 << 20		# the longest message that is read
ANSWER_CHARS = 60000		# the longest answer: further rows are left out, and counted
CELL_CHARS = 2000		# the longest text of a cell
MAX_ROWS, ROWS = 200, 20
MAX_RESULTS = 8			# maximum number of recordings whose tables are kept in memory
FILTERS = ("kernel", "nvtx", "pid", "rank", "device", "stream", "comm", "from", "to", "window")

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
UNITS = "_ns: nanoseconds; _bytes, and all amounts of memory tables: bytes; _percent: percent; " \
    "null: not known"


class RpcError(Exception):
    """The protocol forbids a message; the code says why."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _property(kind, text, **more):
    return {"type": kind, "description": text, **more}


RECORDING = _property("string", "path of a recording, such as xpu.data")
LIMIT = _property("integer", "how many rows", minimum=1, maximum=MAX_ROWS, default=ROWS)
FILTER_PROPERTIES = {name: _property("string", "keep only events of this, as xpumerge --%s" % name)
                     for name in FILTERS}


def _schema_of(required, **properties):
    return {"type": "object", "properties": properties, "required": required,
            "additionalProperties": False}


def _bounded(answer, rows):
    """Puts as many rows into an answer as fit, with long texts cut, and counts the others."""
    answer["rows"], size = [], len(json.dumps(answer))
    for row in rows:
        cut = {key: value[:CELL_CHARS] + "..." if isinstance(value, str) and
               len(value) > CELL_CHARS else value for key, value in row.items()}
        size += len(json.dumps(cut))
        if size > ANSWER_CHARS:
            break
        answer["rows"].append(cut)
    answer["rows_left_out"] += len(rows) - len(answer["rows"])
    return answer


class Server:
    """The state of one connection: the Results that it has used."""

    def __init__(self):
        self._results = {}

    # ---- the tools -------------------------------------------------------------------------------

    def _result(self, args):
        """Returns the Result of a recording with filters; a file that has changed is read again."""
        filters = {name: args[name] for name in FILTERS if name in args}
        path = args["recording"]
        try:
            st = os.stat(path)
        except (OSError, ValueError) as e:
            raise XpuloadError("%s: %s" % (path, getattr(e, "strerror", None) or e)) from e
        key = (path, st.st_mtime_ns, st.st_size, tuple(sorted(filters.items())))
        if key not in self._results:
            while len(self._results) >= MAX_RESULTS:
                del self._results[next(iter(self._results))]
            self._results[key] = read(path, **filters)
        return self._results[key]

    @staticmethod
    def _begin(result):
        return {"losses": result.losses, "account": result.account, "units": UNITS}

    def _rows(self, result, rows, limit):
        answer = self._begin(result)
        answer.update(rows_in_all=len(rows), rows_left_out=max(len(rows) - limit, 0))
        return _bounded(answer, rows[:limit])

    def summarize(self, args):
        """Returns what is missing, and the first rows of the most important tables."""
        result = self._result(args)
        answer = self._begin(result)
        answer["tables_with_rows"] = {name: len(result.table(name)) for name in result.tables
                                      if len(result.table(name))}
        limit = args.get("limit", 5)
        for name in ("devices", "python_lines", "launch_sites", "kernels", "idle",
                     "memory_holders"):
            if name in answer["tables_with_rows"]:
                part = _bounded({"rows_left_out": 0}, result.table(name).to_dicts()[:limit])
                answer[name] = part["rows"]
                if len(json.dumps(answer)) > ANSWER_CHARS:
                    answer[name] = "left out: ask for the table"
        return answer

    def table(self, args):
        """Returns rows of one table of the summary, filtered and sorted."""
        result = self._result(args)
        rows = result.table(args["name"]).to_dicts()
        columns = _schema.columns(args["name"])
        for column in [*args.get("match", {}), *([args["sort"]] if "sort" in args else [])]:
            if column not in columns and column not in (rows[0] if rows else {}):
                raise XpuloadError("%s has no column %s; its columns are %s" % (
                    args["name"], column, ", ".join(columns)))
        for column, wanted in args.get("match", {}).items():
            rows = [row for row in rows if str(wanted) in str(row[column])]
        if "sort" in args:
            key = args["sort"]
            known = [row for row in rows if row[key] is not None]
            known.sort(key=lambda row: row[key], reverse=not isinstance(known[0][key], str)
                       if known else False)
            rows = known + [row for row in rows if row[key] is None]
        return self._rows(result, rows, args.get("limit", ROWS))

    def call_paths(self, args):
        """Returns call paths by GPU time, if wanted only those with a text in a frame."""
        result = self._result(args)
        frame = args.get("frame", "")
        rows = [row for row in result.launch_sites.to_dicts() if frame in row["path"]]
        return self._rows(result, rows, args.get("limit", ROWS))

    def diff(self, args):
        """Returns call paths whose time differs between two recordings, largest change first."""
        before = self._result({"recording": args["before"]})
        after = self._result({"recording": args["after"]})
        rows = [row for row in before.diff(after).to_dicts() if row["change_ns"]]
        answer = {"losses_before": before.losses, **self._begin(after),
                  "account_before": before.account, "rows_in_all": len(rows)}
        limit = args.get("limit", ROWS)
        answer["rows_left_out"] = max(len(rows) - limit, 0)
        return _bounded(answer, rows[:limit])

    TOOLS = {
        "summarize": ("Summarizes a recording: what is missing, GPUs, lines of Python, call paths, "
                      "kernels, idle gaps, holders of memory.",
                      _schema_of(["recording"], recording=RECORDING, limit=LIMIT,
                                 **FILTER_PROPERTIES)),
        "table": ("Reads a table of the summary. Names: " + ", ".join(_schema.tables()),
                  _schema_of(["recording", "name"], recording=RECORDING, limit=LIMIT,
                             name=_property("string", "the table", enum=_schema.tables()),
                             match=_property("object", "column: text that its cells contain"),
                             sort=_property("string", "column to sort by, the largest first"),
                             **FILTER_PROPERTIES)),
        "call_paths": ("Lists the call paths that launched GPU work, by GPU time, root first.",
                       _schema_of(["recording"], recording=RECORDING, limit=LIMIT,
                                  frame=_property("string", "text that the path contains"),
                                  **FILTER_PROPERTIES)),
        "diff": ("Compares two recordings by call path, in ns.",
                 _schema_of(["before", "after"], before=RECORDING, after=RECORDING, limit=LIMIT)),
    }

    # ---- the protocol ----------------------------------------------------------------------------

    def _check(self, name, args):
        """Checks the arguments of a tool by its schema."""
        if name not in self.TOOLS:
            raise RpcError(PARAMS, "unknown tool: %s" % name)
        schema = self.TOOLS[name][1]
        kinds = {"string": str, "integer": int, "object": dict}
        if not isinstance(args, dict):
            raise RpcError(PARAMS, "arguments: expected an object")
        for key in schema["required"]:
            if key not in args:
                raise RpcError(PARAMS, "%s: missing argument %s" % (name, key))
        for key, value in args.items():
            of = schema["properties"].get(key)
            if not of:
                raise RpcError(PARAMS, "%s: unknown argument %s" % (name, key))
            if not isinstance(value, kinds[of["type"]]) or isinstance(value, bool):
                raise RpcError(PARAMS, "%s: %s: expected %s" % (name, key, of["type"]))
            if key == "limit" and not 1 <= value <= MAX_ROWS:
                raise RpcError(PARAMS, "limit: expected 1 to %d" % MAX_ROWS)
            if value not in of.get("enum", [value]):
                raise RpcError(PARAMS, "%s: there is no table %s" % (name, value))

    def _call(self, params):
        name, args = params.get("name"), params.get("arguments", {})
        self._check(name, args)
        try:
            answer = getattr(self, name)(args)
        except XpuloadError as e:
            return {"content": [{"type": "text", "text": str(e)}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(answer)}],
                "structuredContent": answer, "isError": False}

    def _request(self, method, params):
        if method == "initialize":
            wanted = params.get("protocolVersion")
            return {"protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "xpuload", "version": __version__},
                    "instructions": "Look at losses first: what is missing is not in the rows."}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [{"name": name, "description": text, "inputSchema": schema}
                              for name, (text, schema) in self.TOOLS.items()]}
        if method == "tools/call":
            return self._call(params)
        raise RpcError(METHOD, "there is no method %s" % method)

    def answer(self, line):
        """Returns the answer to a line as an object, or None: a notification has none."""
        number = None
        try:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as e:
                raise RpcError(PARSE, "this line is no JSON") from e
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise RpcError(REQUEST, "expected a JSON-RPC 2.0 message")
            if "method" not in message and ("result" in message or "error" in message):
                return None
            number, method = message.get("id"), message.get("method")
            params = message.get("params", {})
            if not isinstance(method, str) or not isinstance(number, (int, str, type(None))):
                number = None
                raise RpcError(REQUEST, "expected a method and an id")
            if "id" not in message:
                return None
            if not isinstance(params, dict):
                raise RpcError(PARAMS, "params: expected an object")
            return {"jsonrpc": "2.0", "id": number, "result": self._request(method, params)}
        except RpcError as e:
            return {"jsonrpc": "2.0", "id": number, "error": {"code": e.code, "message": str(e)}}


def serve(lines, out):
    """Answers the messages of a binary stream until its end."""
    server = Server()
    while True:
        line = lines.readline(LINE_BYTES)
        if not line:
            return 0
        if not line.endswith(b"\n") and len(line) == LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = lines.readline(LINE_BYTES)
            line = b"too long"
        if not re.search(rb"\S", line):
            continue
        answer = server.answer(line.decode("utf-8", "replace"))
        if answer is not None:
            out.write(json.dumps(answer).encode() + b"\n")
            out.flush()


def main():
    try:
        return serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
