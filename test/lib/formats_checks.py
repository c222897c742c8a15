# SPDX-License-Identifier: GPL-3.0-or-later
"""formats_checks.py FORMAT FILE [UNIT]: prints sorted folded lines of a file in another format.

Reads the file with third-party parsers (protobuf, for the published .proto files, which protoc
compiles into the directory PB_DIR), tests the rules of the format, and prints what must be equal in
all formats: "comm;frame;...;leaf VALUE". UNIT is ns (default), count or bytes.
"""
import bisect
import collections
import csv
import decimal
import gzip
import io
import json
import os
import re
import subprocess
import sys

import html_folded

sys.path.insert(0, os.environ.get("PB_DIR", "."))


def frame(name):
    """Returns a name as a folded line has it."""
    return re.sub("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", "?",
                  name).replace(";", ":")


def pprof(path, unit):
    import profile_pb2
    profile = profile_pb2.Profile()
    with gzip.open(path) as f:
        profile.ParseFromString(f.read())
    strings = profile.string_table
    assert strings[0] == "", "the string table begins with the empty string"
    assert len(set(strings)) == len(strings), "each string once"
    types = [(strings[t.type], strings[t.unit]) for t in profile.sample_type]
    assert types[:4] == [("gpu", "nanoseconds"), ("cpu", "nanoseconds"), ("launches", "count"),
                         ("bytes", "bytes")], types
    assert strings[profile.default_sample_type] == "gpu"
    mappings = {m.id: m for m in profile.mapping}
    functions = {f.id: f for f in profile.function}
    locations = {l.id: l for l in profile.location}
    for table, entries in ((mappings, profile.mapping), (functions, profile.function),
                           (locations, profile.location)):
        assert 0 not in table and len(table) == len(entries), "ids are unique and not 0"
    for l in profile.location:
        assert l.line and (not l.mapping_id or l.mapping_id in mappings)
    # Each column has one kind of time; "all" adds up all kinds.
    values = {"ns": [0], "cpu": [1], "count": [2], "bytes": [3], "all": [0, 1, 4]}[unit]
    for s in profile.sample:
        assert len(s.value) == len(types)
        labels = {strings[l.key]: strings[l.str] for l in s.label}
        if unit == "cpu" and not s.value[1]:
            continue
        frames = []
        for i in s.location_id:
            for nr, line in enumerate(locations[i].line, 1):
                name = strings[functions[line.function_id].name]
                if line.line:
                    name += " (%s:%d)" % (strings[functions[line.function_id].filename], line.line)
                frames.append(name + (" (inlined)" if nr < len(locations[i].line) else ""))
        yield [labels["comm"]] + frames[::-1], sum(s.value[v] for v in values if v < len(types))


def go(path, unit):
    """Parses the output of `go tool pprof -raw` for a profile."""
    raw = subprocess.run(["go", "tool", "pprof", "-raw", path], check=True, stdout=subprocess.PIPE)
    _, rest = raw.stdout.decode().split("\nSamples:\n")
    samples, rest = rest.split("\nLocations\n")
    functions, current = {}, None
    for text in rest.split("\nMappings\n")[0].split("\n"):
        m = re.match(r"(?: +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?| {13})"
                     r"(.*) (\S*):(\d+)(?::\d+)? s=\d+(?:\((.*)\))?$", text)
        assert m, text
        if m[1]:
            current = functions[int(m[1])] = []
        # The reader shortens names, and prints the full name in parentheses.
        current.append((m[5] or m[2]) + (" (%s:%s)" % (m[3], m[4]) if int(m[4]) else ""))
    lines = samples.split("\n")
    types = [t.split("/")[0].split("[")[0] for t in lines.pop(0).split()]
    values = {"ns": [0], "cpu": [1], "count": [2], "bytes": [3], "all": [0, 1, 4]}[unit]
    for sample, labels in zip(lines[::2], lines[1::2]):
        numbers, _, locations = sample.partition(":")
        numbers = [int(n) for n in numbers.split()]
        assert len(numbers) == len(types)
        if unit == "cpu" and not numbers[1]:
            continue
        frames = []
        for i in locations.split():
            names = functions[int(i)]
            frames += [n + " (inlined)" for n in names[:-1]] + names[-1:]
        comm = re.search(r"(?:^| )comm:\[(.*?)\] (?:device|host|pid):\[", labels.strip())[1]
        yield [comm] + frames[::-1], sum(numbers[v] for v in values if v < len(numbers))


def perf(path, unit):
    """Matches lines with the expressions of stackcollapse-perf.pl, speedscope and the Firefox
    Profiler, the strictest of each. A line that matches none is an error."""
    head = re.compile(r"([^\s#{]\S*)\s+(\d+)/(\d+)\s+(\d+\.\d{9}):\s+(\d+) (\S+):$")
    line = re.compile(r"\s+(\w+) (.+) \(([^()\s]*)\)$")
    sample, last = None, 0.0
    with open(path, encoding="utf-8") as f:
        for text in f:
            text = text[:-1]
            if not text:
                comm, value, frames = sample
                yield [comm] + frames[::-1], value
                sample = None
            elif not sample:
                m = head.match(text)
                assert m, text
                assert float(m[4]) >= last, "in order of time"
                last = float(m[4])
                assert m[6] in ("gpu-time", "cpu-clock", "off-cpu", "gpu-wait")
                sample = m[1], int(m[5]) if unit == "ns" else 1, []
            else:
                m = line.match(text)
                assert m, text
                name = m[2]
                if name == "[unknown]" and m[3] != "[unknown]":
                    name = "%s+0x%s" % (m[3].rpartition("/")[2], m[1])
                if name.startswith("{anonymous namespace}"):
                    name = name.replace("{", "(", 1).replace("}", ")", 1)
                if m[3] == "[kernel.kallsyms]":
                    name += "_[k]"
                sample[2].append(name)
    assert not sample, "the last sample is whole"


def check_counters(counters):
    assert any(name == "work in flight" for _, name in counters), "there is one"
    for points in counters.values():
        times = [time for time, _ in points]
        assert times == sorted(set(times)), "one value at a time, in order"
        assert points[0][1] and not points[-1][1], "from something to nothing"
        assert all(0 <= value < 1 << 40 for _, value in points)


def check_nesting(spans):
    """Fails unless spans nest. Spans are (start, end), sorted by start, then by falling end."""
    ends = []
    for start, end in spans:
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or end <= ends[-1], "slices of a track nest"
        ends.append(end)


def chrome(path, unit):
    """Yields the device work that flow arrows lead to, under the call paths of the launches."""
    def ns(us):
        return int(us * 1000)

    with open(path, encoding="utf-8") as f:
        trace = json.load(f, parse_float=decimal.Decimal)
    nodes, stacks = trace["stackFrames"], {}

    def stack(node):
        if node not in stacks:
            n = nodes[str(node)]
            stacks[node] = (stack(int(n["parent"])) if "parent" in n else []) + [n["name"]]
        return stacks[node]

    comms, gpus, launches, works, starts, ends = {}, {}, {}, {}, {}, {}
    tracks, counters, calls = [collections.defaultdict(list) for i in range(3)]
    for e in trace["traceEvents"]:
        key = e["pid"], e["tid"]
        if e["ph"] == "M":
            if e["name"] == "thread_name":
                comms[key] = e["args"]["name"]
            elif e["name"] == "process_name":
                gpus[e["pid"]] = e["args"]["name"].split()[1]
            continue
        at = key + (ns(e["ts"]),)
        if e["ph"] == "C":
            counters[e["pid"], e["name"]].append((at[2], e["args"]["value"]))
        if e["ph"] == "X":
            tracks[key].append((at[2], -at[2] - ns(e["dur"])))
            if e["cat"] == "api":
                calls[key].append((at[2], at[2] + ns(e["dur"])))
            elif e["cat"] == "launch":
                assert at not in launches, "one launch at a time"
                launches[at] = e
            else:
                works.setdefault(at, []).append(e)
        elif e["ph"] == "s":
            starts[e["id"]] = at
        elif e["ph"] == "f":
            assert e["bp"] == "e"
            ends[e["id"]] = at
    check_counters(counters)
    for key, spans in tracks.items():
        spans.sort()
        check_nesting((start, -end) for start, end in spans)
        if key[0] >= 1 << 30:           # a GPU's track, not a thread's
            assert all(-a[1] <= b[0] for a, b in zip(spans, spans[1:])), "one at a time"
        for begin, end in calls[key]:
            at = bisect.bisect(spans, (begin, -end)) - 2
            assert spans[at][0] <= begin and -spans[at][1] >= end, "each is within a launch"
    launch_times = sorted(launches)
    for i, start in starts.items():     # the launch is somewhere within this slice
        at = launch_times[bisect.bisect(launch_times, start) - 1]
        assert at[:2] == start[:2] and start[2] <= at[2] + ns(launches[at]["dur"])
        starts[i] = at
    assert starts.keys() == ends.keys(), "arrows have both ends"
    labels = {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset"}
    numbered = len({at[0] for at in works}) > 1
    pending = dict(launches)
    for i, start in starts.items():
        launch, work = launches[start], works[ends[i]].pop()
        pending.pop(start, None)
        if "captured_at" not in work["args"]:
            assert work["sf"] == launch["sf"], "work has the call path of its launch"
        name = work["name"]
        if work["cat"] != "kernel":
            name = name[len("memcpy "):]
        leaf = "[GPU%s_%s]%s" % (gpus[work["pid"]] if numbered else "", labels[work["cat"]], name)
        yield ([comms[start[:2]]] + stack(launch["sf"]) + [leaf],
               ns(work["dur"]) if unit == "ns" else 1)
    assert not any(works.values()), "nothing without an arrow"
    for at, launch in pending.items():
        yield ([comms[at[:2]]] + stack(launch["sf"]) + ["[GPU_Launch_Pending]"],
               0 if unit == "ns" else 1)


def unknown_fields(message):
    try:
        from google.protobuf.unknown_fields import UnknownFieldSet
    except ImportError:  # before protobuf 4.21
        return len(message.UnknownFields())
    return len(UnknownFieldSet(message))


def pftrace(path, unit):
    """Yields device slices, under the call paths of their flows' launches, and CPU samples."""
    import perfetto_pb2
    from google.protobuf.internal import decoder
    with open(path, "rb") as f:
        data = f.read()
    tables = collections.defaultdict(dict)
    tracks, threads, flows, last_end = {}, {}, {}, {}
    open_slices = collections.defaultdict(list)
    works, at, counters = [], 0, collections.defaultdict(list)
    clocks, defaults, now, pending = {}, None, None, {}
    while at < len(data):
        assert data[at] == 0x0a, "a packet"
        size, at = decoder._DecodeVarint(data, at + 1)
        packet = perfetto_pb2.TracePacket.FromString(data[at:at + size])
        at += size
        assert not unknown_fields(packet)
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == (1 if not tables else 2)
        for field, entries in packet.interned_data.ListFields():
            for e in entries:
                assert e.iid and e.iid not in tables[field.name], "ids are unique and not 0"
                tables[field.name][e.iid] = e
        if packet.HasField("clock_snapshot"):
            assert not clocks, "once, before there are times"
            clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
            base_ns = clocks[packet.clock_snapshot.primary_trace_clock].timestamp
            for c in clocks.values():
                assert c.clock_id < 64 or not c.timestamp
                c.timestamp = base_ns
        if packet.HasField("trace_packet_defaults"):
            defaults = packet.trace_packet_defaults
        if packet.HasField("timestamp"):
            c = clocks[packet.timestamp_clock_id or defaults.timestamp_clock_id]
            now = c.timestamp + packet.timestamp
            if c.is_incremental:
                c.timestamp = now
        if packet.HasField("track_descriptor"):
            t = packet.track_descriptor
            assert t.uuid not in tracks
            assert not t.parent_uuid or t.parent_uuid in tracks, "parents come first"
            tracks[t.uuid] = t
            if t.HasField("thread"):
                threads[t.thread.pid, t.thread.tid] = t.thread.thread_name
        if packet.HasField("perf_sample"):
            s = packet.perf_sample
            frames = [tables["frames"][i] for i in tables["callstacks"][s.callstack_iid].frame_ids]
            assert all(f.mapping_id in tables["mappings"] for f in frames)
            # Only the folded stacks have the duration of each launch.
            yield ([threads[s.pid, s.tid]] +
                   [tables["function_names"][f.function_name_id].str.decode()
                                              for f in frames], 1)
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        if not e.track_uuid:
            e.track_uuid = defaults.track_event_defaults.track_uuid
        assert e.track_uuid in tracks and packet.HasField("timestamp")
        if e.type == e.TYPE_COUNTER:
            assert tracks[e.track_uuid].HasField("counter")
            counters[tracks[e.track_uuid].parent_uuid, tracks[e.track_uuid].name].append(
                (now, e.counter_value))
            continue
        if e.type == e.TYPE_SLICE_END:
            begin, begin_ns = open_slices[e.track_uuid].pop()
            assert now >= max(begin_ns, last_end.get(e.track_uuid, 0))
            last_end[e.track_uuid] = now
            if begin.category == "api":
                assert open_slices[e.track_uuid][-1][0].category == "launch"
            elif begin.category != "launch":
                works.append((begin, now - begin_ns))
            continue
        assert e.type == e.TYPE_SLICE_BEGIN
        assert now >= last_end.get(e.track_uuid, 0), "slices of a track nest"
        values = {tables["debug_annotation_names"][a.name_iid].name: a for a in e.debug_annotations}
        category = tables["event_categories"][e.category_iids[0]].name
        name = tables["event_names"][e.name_iid].name
        stack = values.get("call path")
        if stack:
            stack = tables["debug_annotation_string_values"][stack.string_value_iid]
            stack = stack.str.decode().split(";")
        slice = collections.namedtuple("slice", "category name track flows stack")(
            category, name, tracks[e.track_uuid], list(e.flow_ids), stack)
        open_slices[e.track_uuid].append((slice, now))
        if category == "launch":
            assert stack[-1] == frame(name), "named for the call"
            for flow in slice.flows:
                assert flow not in flows, "an arrow of its own for each work of a launch"
                flows[flow] = [slice.track.thread.thread_name] + stack
            pending[slice.flows[0]] = slice.flows
    assert not any(open_slices.values()), "all slices end"
    if works:
        check_counters(counters)
    labels = {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset"}
    gpus = {w.track.parent_uuid for w, _ in works}
    for w, ns in works:
        gpu = tracks[w.track.parent_uuid].name.split()[1] if len(gpus) > 1 else ""
        name = w.name if w.category == "kernel" else w.name[len("memcpy "):]
        (flow,) = w.flows
        pending.pop(flow, None)
        path = flows.pop(flow)
        assert w.stack == path[1:], "work has the call path of its launch"
        yield (path + ["[GPU%s_%s]%s" % (gpu, labels[w.category], name)],
               ns if unit == "ns" else 1)
    for flow in pending:
        yield flows.pop(flow) + ["[GPU_Launch_Pending]"], 0 if unit == "ns" else 1
    assert not flows, "every arrow ends"


def sites(rows, unit):
    for row in rows:
        key = "total_ns" if unit == "ns" else "instances"
        yield [row["comm"]] + row["path"].split(";"), int(row[key])


def csv_rows(f):
    """Returns rows of CSV. Cells that a spreadsheet would take for a formula begin with '."""
    for row in csv.DictReader(f, strict=True):
        assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in row.values()), row
        yield {key: cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell
               for key, cell in row.items()}


def csv_table(path, unit):
    """Yields rows of the launch sites' table, written alone: stacks without their leaf."""
    with open(path, encoding="utf-8", newline="") as f:
        yield from sites(csv_rows(f), unit)


def names(path, unit):
    """Yields kernels by name, from a table alone or among all tables, to compare with leaves."""
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    if text.startswith("{"):
        rows = json.loads(text)["kernels"]
    else:
        rows = csv_rows(io.StringIO(text))
    for row in rows:
        yield ["[GPU_Kernel]" + row["name"]], int(row["total_ns" if unit == "ns" else "instances"])


def json_tables(path, unit):
    with open(path, encoding="utf-8") as f:
        tables = json.load(f)
    kernels = sum(row["total_ns"] for row in tables["kernels"])
    memory = sum(row["total_ns"] for row in tables["memory_time"])
    assert kernels + memory == sum(row["total_ns"] for row in tables["devices"])
    assert kernels + memory == sum(row["total_ns"] for row in tables["streams"])
    assert kernels + memory == sum(row["total_ns"] for row in tables["launch_sites"])
    yield from sites(tables["launch_sites"], unit)


def html(path, unit):
    """Returns the page's cells."""
    with open(path, encoding="utf-8") as f:
        yield from html_folded.stacks(f.read(), "nr" if unit == "count" else unit)


def main():
    sums = collections.Counter()
    unit = sys.argv[3] if len(sys.argv) > 3 else "ns"
    readers = {"chrome": chrome, "csv": csv_table, "go": go, "html": html, "json": json_tables,
               "names": names, "perf": perf, "pftrace": pftrace, "pprof": pprof}
    for frames, value in readers[sys.argv[1]](sys.argv[2], unit):
        sums[";".join(map(frame, frames))] += value
    out = sys.stdout.buffer
    for line in sorted(line.encode() for line in sums):
        out.write(line + b" %d\n" % sums[line.decode()])


main()
