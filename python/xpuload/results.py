# SPDX-License-Identifier: MIT
"""The results of a recording: tables as named tuples, DataFrames or Arrow tables, and pages.

xpumerge makes all of them. A summary is made once, when its first table is used.
"""
import collections
import html
import json
import os

from xpuload import _programs, _schema
from xpuload._errors import XpuloadError

SHOWN_ROWS = 20			# maximum rows of a table in a notebook
LAUNCHES = {"time_ns": "integer", "pid": "integer", "tid": "integer", "correlation_id": "integer",
            "works": "integer", "device_ns": "integer", "name": "string", "call": "string",
            "path": "string"}
ALIASES = {"paths": "launch_sites", "memory": "memory_holders"}
PAGES = (".html", ".folded", ".pb.gz")
TIMELINES = (".json", ".json.gz", ".pftrace", ".pftrace.gz")


def _cell(value):
    return "" if value is None else html.escape(str(value))


class Rows(list):
    """The rows of a table: named tuples, in the order of xpumerge."""

    def __init__(self, name, columns, rows):
        """@columns: the schema's columns, name to type; @rows: a dictionary for each row."""
        for row in rows:
            if row.keys() - columns.keys():		# counters of GPUs are columns of their own
                columns = {**dict.fromkeys(row, "number"), **columns}
        self.name = name
        self.columns = list(rows[0]) if rows else list(columns)
        self.types = {column: columns[column] for column in self.columns}
        kind = collections.namedtuple(name, self.columns, rename=True)
        super().__init__(kind(*(row.get(column) for column in self.columns)) for row in rows)

    def to_dicts(self):
        return [dict(zip(self.columns, row)) for row in self]

    def to_pandas(self):
        """Returns a pandas.DataFrame, in which integers that may be unknown are Int64."""
        pandas = _import("pandas")
        dtypes = {"integer": "Int64", "number": "float64", "string": "object"}
        return pandas.DataFrame({
            column: pandas.Series([row[i] for row in self], dtype=dtypes[self.types[column]])
            for i, column in enumerate(self.columns)})

    def to_arrow(self):
        """Returns a pyarrow.Table."""
        arrow = _import("pyarrow")
        types = {"integer": arrow.int64(), "number": arrow.float64(), "string": arrow.string()}
        return arrow.table({
            column: arrow.array([row[i] for row in self], types[self.types[column]])
            for i, column in enumerate(self.columns)})

    def _repr_html_(self):
        head = "".join("<th>%s</th>" % _cell(column) for column in self.columns)
        body = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % _cell(value) for value in row)
                       for row in self[:SHOWN_ROWS])
        more = len(self) - SHOWN_ROWS
        return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (
            head, body, "<p>and %d more rows</p>" % more if more > 0 else "")


def _import(name):
    try:
        return __import__(name)
    except ImportError as e:
        raise XpuloadError("%s is not installed: pip install %s" % (name, name)) from e


def options_of(filters):
    """Returns xpumerge's options for keyword arguments: kernel="gemm", from_="1s", no_trim=True."""
    options = []
    for key, value in filters.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        if isinstance(value, (list, tuple)):
            value = ",".join(str(v) for v in value)
        if value is True:
            options.append(name)
        elif value is not False and value is not None:
            options.append("%s=%s" % (name, value))
    return options


def _path(name):
    """Returns a path that no program takes for an option."""
    name = os.fspath(name)
    return os.path.join(".", name) if name.startswith("-") else name


class Result:
    """The results of one recording, or of several: see read().

    Each table of the summary is an attribute: r.kernels, r.python_lines, r.launch_sites ... paths
    is another name of launch_sites, memory of memory_holders.
    """

    def __init__(self, paths, filters, frame=None):
        if frame not in (None, "pandas", "arrow"):
            raise XpuloadError("frame=%r: expected None, 'pandas' or 'arrow'" % (frame,))
        self.paths_of_recordings = paths
        self._options = options_of(filters)
        self._frame = frame
        self._summary = self._messages = None

    # ---- the summary -----------------------------------------------------------------------------

    def _merge(self, args):
        """Runs xpumerge on the recordings. Status 1: the result lacks something, and says so."""
        done = _programs.run("xpumerge", [*self._options, *args, *self.paths_of_recordings])
        if done.returncode not in (0, 1):
            raise XpuloadError(_programs.last_line(done.stderr))
        return done

    def _load(self):
        if self._summary is not None:
            return
        done = self._merge(["--json"])
        try:
            self._summary = json.loads(done.stdout)
        except ValueError as e:
            raise XpuloadError(_programs.last_line(done.stderr)) from e
        self._messages = done.stderr.decode("utf-8", "replace").splitlines()

    @property
    def tables(self):
        """The names of the tables of the summary."""
        return _schema.tables()

    @property
    def account(self):
        """How many launches there are, how many have device work, and how much is lost."""
        self._load()
        return self._summary["account"]

    @property
    def losses(self):
        """The lines of xpumerge's account: everything that is missing, with its number."""
        self._load()
        for i, line in enumerate(self._messages):
            if line.startswith("launches "):
                return [line.strip() for line in self._messages[i:]
                        if not line.startswith("xpumerge: ")]
        return []

    @property
    def messages(self):
        """The other messages that xpumerge prints, for example about files without symbols."""
        self._load()
        return [line[len("xpumerge: "):] for line in self._messages
                if line.startswith("xpumerge: ")]

    def table(self, name, frame=None):
        """Returns a table of the summary. @frame: by default as for read()"""
        name = ALIASES.get(name, name)
        if name not in _schema.tables():
            raise XpuloadError("there is no table %s; the tables are %s" %
                               (name, ", ".join(_schema.tables())))
        self._load()
        rows = Rows(name, _schema.columns(name), self._summary.get(name, []))
        return _framed(rows, frame or self._frame)

    @property
    def launches(self):
        """All recorded launches, in order of time, read from a timeline, which takes memory.

        works and device_ns are the number and the time of the pieces of device work, 0 if none
        was seen; name is the name of the first piece.
        """
        events = json.loads(self._merge(["-f", "chrome"]).stdout)
        rows = Rows("launches", LAUNCHES, _launches(events))
        return _framed(rows, self._frame)

    def __getattr__(self, name):
        if name.startswith("_") or name not in (*ALIASES, *_schema.tables()):
            raise AttributeError("a result has no %r" % name)
        return self.table(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *ALIASES, *_schema.tables()})

    # ---- pages and timelines -------------------------------------------------------------------

    def _write(self, path, suffixes, options):
        path = _path(path)
        if not path.endswith(suffixes):
            raise XpuloadError("%s: expected a name that ends in %s" % (path, ", ".join(suffixes)))
        done = self._merge([*options_of(options), "-o", path])
        if not os.path.exists(path):
            raise XpuloadError("%s was not written: %s" % (path, _programs.last_line(done.stderr)))
        return path

    def write(self, path, **options):
        """Writes a file, whose suffix picks the format, as xpumerge -o does. Returns the path."""
        return self._write(path, ("",), options)

    def flamegraph(self, path, **options):
        """Writes a flame graph: .html, .folded or .pb.gz. Returns the path."""
        return self._write(path, PAGES, options)

    def timeline(self, path, **options):
        """Writes a timeline: .json or .pftrace, also with .gz. Returns the path."""
        return self._write(path, TIMELINES, options)

    def diff(self, other, path=None, **options):
        """Compares with another result or recording, which is the later one.

        Without a path, returns rows of (path, before_ns, after_ns, change_ns), the largest change
        first. With one, writes the comparison there: .html, .folded or .txt. Returns the path.
        """
        if not isinstance(other, Result):
            other = read(other)
        if len(self.paths_of_recordings) != 1 or len(other.paths_of_recordings) != 1:
            raise XpuloadError("diff compares two recordings: merge several with xpumerge first")
        args = ["diff", *self._options, *options_of(options)]
        pair = [*self.paths_of_recordings, *other.paths_of_recordings]
        args += ["-o", _path(path)] if path else ["-f", "folded", "--unit", "ns"]
        done = _programs.run("xpumerge", [*args, *pair])
        if done.returncode not in (0, 1):
            raise XpuloadError(_programs.last_line(done.stderr))
        return path if path else _diff_rows(done.stdout.decode("utf-8", "replace"))

    def verdict(self, later, fail_over=0):
        """Returns whether later recordings are slower: what xpumerge diff --json prints.

        Each side has recordings of several runs of one build; the spread between them is the
        noise. Changes up to fail_over percent do not count.
        """
        done = _programs.run("xpumerge", [
            "diff", "--json", "--fail-over=%g%%" % fail_over, *self._options,
            *self.paths_of_recordings, "vs", *later.paths_of_recordings])
        if done.returncode not in (0, 1):
            raise XpuloadError(_programs.last_line(done.stderr))
        return json.loads(done.stdout)

    # ---- for people ----------------------------------------------------------------------------

    def __repr__(self):
        return "<xpuload.Result of %s>" % ", ".join(self.paths_of_recordings)

    def _repr_html_(self):
        """A small summary: losses first, then lines of Python and kernels."""
        parts = ["<p>%s</p>" % "<br>".join(_cell(line) for line in self.losses)]
        for name in ("python_lines", "kernels"):
            rows = self.table(name, frame="rows")
            if rows:
                parts.append("<h4>%s</h4>%s" % (name.replace("_", " "), rows._repr_html_()))
        return "<div>%s</div>" % "".join(parts)


def _framed(rows, frame):
    return rows.to_pandas() if frame == "pandas" else \
        rows.to_arrow() if frame == "arrow" else rows


def _launches(timeline):
    """Returns a dictionary for each launch of a timeline, as xpumerge -f chrome writes it."""
    base_ns = int(timeline["otherData"]["base_ns"])
    launches, works, arrows, paths = {}, {}, {}, {}
    for stack, frame in timeline.get("stackFrames", {}).items():	# a parent comes first
        before = paths[frame["parent"]] + ";" if "parent" in frame else ""
        paths[stack] = before + frame["name"]

    def ns(us):
        return round(us * 1000)

    for event in timeline["traceEvents"]:
        kind, place = event["ph"], (event["pid"], event.get("tid"), event.get("ts"))
        if kind == "s":
            arrows[event["id"]] = place
        elif kind == "X" and event.get("cat") == "launch":
            launches.setdefault(place, []).append({
                "time_ns": base_ns + ns(event["ts"]), "pid": event["pid"], "tid": event["tid"],
                "correlation_id": event["args"]["correlation"], "works": 0, "device_ns": 0,
                "name": None, "call": event["name"],
                "path": paths[str(event["sf"])] if "sf" in event else ""})
        elif kind == "X" and "correlation" in event.get("args", {}):
            works[place] = event
    for event in timeline["traceEvents"]:
        work = works.get((event["pid"], event.get("tid"), event.get("ts")))
        if event["ph"] != "f" or not work:
            continue
        for launch in launches.get(arrows.get(event["id"]), []):
            if launch["correlation_id"] == work["args"]["correlation"]:
                launch["works"] += 1
                launch["device_ns"] += ns(work["dur"])
                launch["name"] = launch["name"] or work["name"]
    return sorted((row for rows in launches.values() for row in rows),
                  key=lambda row: (row["time_ns"], row["pid"], row["correlation_id"]))


def _diff_rows(text):
    rows = []
    for line in text.splitlines():
        path, before, after = line.rsplit(" ", 2)
        rows.append({"path": path, "before_ns": int(before), "after_ns": int(after),
                     "change_ns": int(after) - int(before)})
    rows.sort(key=lambda row: (-abs(row["change_ns"]), row["path"]))
    return Rows("diff", {"path": "string", "before_ns": "integer", "after_ns": "integer",
                         "change_ns": "integer"}, rows)


def read(*recordings, frame=None, **filters):
    """Returns the Result of a recording, or of several.

    @frame: tables are pandas.DataFrames ("pandas"), pyarrow.Tables ("arrow"), or lists of named
    tuples (None). Other arguments are options of xpumerge: kernel="gemm", rank="0-3", from_="1s".
    """
    if not recordings:
        raise XpuloadError("read() needs the name of a recording")
    paths = [_path(name) for name in recordings]
    for path in paths:
        if not os.path.exists(path):
            raise XpuloadError("%s: there is no such recording" % path)
    return Result(paths, filters, frame)
