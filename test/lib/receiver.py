#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""receiver.py PORT_FILE LOG MODE_FILE: receives profiles as Pyroscope, an OpenTelemetry collector
and Parca do.

It parses requests with code that protoc makes from the published protocol definitions, and checks
every field. LOG gets a line of JSON for each request: the kind of request and its faults. MODE_FILE
says how to answer: ok, 500, 400, stall, long (an endless answer), garbage (not HTTP), lie (OTLP:
says that all profiles are rejected).
"""
import base64
import email.parser
import email.policy
import gzip
import hashlib
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.environ["PB_DIR"])
import profile_pb2  # noqa: E402
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2  # noqa: E402

KINDS = {"gpu_kernel_time", "gpu_copy_time", "cpu", "wait"}
FRAME_TYPES = {"native", "kernel", "cpython", "cuda"}


def pprof_stack(p, sample):
    functions = {f.id: f for f in p.function}
    locations = {loc.id: loc for loc in p.location}
    names = []
    for id_ in sample.location_id:
        for line in locations[id_].line:
            names.append(p.string_table[functions[line.function_id].name])
    return ";".join(reversed(names))


def check_pprof(data, start_ns, end_ns, errors):
    """Returns the kind of a gzipped profile, and its sums by stack."""
    p = profile_pb2.Profile.FromString(gzip.decompress(data))
    text = p.string_table
    types = [(text[t.type], text[t.unit]) for t in p.sample_type]
    if len(types) != 1 or types[0][0] not in KINDS or types[0][1] != "nanoseconds":
        errors.append("sample types %s" % types)
    if text[0] != "" or len(set(text)) != len(text):
        errors.append("string table")
    if (text[p.period_type.type], text[p.period_type.unit]) != types[0] or p.period < 1:
        errors.append("period")
    if start_ns is not None and not (start_ns - 1e9 <= p.time_nanos <= end_ns + 1e9 and
                                     p.time_nanos + p.duration_nanos <= end_ns + 2e9):
        errors.append("time %d %d" % (p.time_nanos, p.duration_nanos))
    mappings = {m.id for m in p.mapping}
    for loc in p.location:
        if loc.mapping_id and loc.mapping_id not in mappings:
            errors.append("mapping of a location")
        if not loc.line:
            errors.append("location without a line")
    if not p.sample:
        errors.append("no samples")
    sums = {}
    for s in p.sample:
        if len(s.value) != 1 or s.value[0] < 0:
            errors.append("values %s" % s.value)
        labels = {text[label.key]: text[label.str] for label in s.label}
        if not labels.get("comm") or not labels.get("pid"):
            errors.append("labels %s" % labels)
        want = json.loads(os.environ.get("RECEIVER_LABELS", "{}"))
        if {key: labels.get(key) for key in want} != want:
            errors.append("labels %s" % labels)
        if types[0][0].startswith("gpu") and "device" not in labels:
            errors.append("no device")
        stack = pprof_stack(p, s)
        sums[stack] = sums.get(stack, 0) + s.value[0]
    return types[0][0], sums


def check_pyroscope(path, query, headers, body, errors):
    if path != "/ingest" or set(query) != {"name", "from", "until", "format", "spyName"}:
        errors.append("path or query %s %s" % (path, query))
    name = query["name"]
    if not name.startswith("xpuload{host=") or not name.endswith(",cluster=x}"):
        errors.append("name %s" % name)
    if query["format"] != "pprof" or int(query["from"]) >= int(query["until"]):
        errors.append("format or time")
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body)
    parts = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
             for part in message.iter_parts()}
    if set(parts) != {"profile", "sample_type_config"}:
        errors.append("parts %s" % set(parts))
    kind, sums = check_pprof(parts["profile"], int(query["from"]) * 1e9, int(query["until"]) * 1e9,
                             errors)
    config = json.loads(parts["sample_type_config"])
    if set(config) != {kind} or config[kind] != {"units": "nanoseconds", "aggregation": "sum"}:
        errors.append("sample_type_config %s" % config)
    return [(kind, sums)]


def check_parca(path, query, headers, body, errors):
    request = json.loads(body)
    if path != "/profiles/writeraw" or query or headers["content-type"] != "application/json":
        errors.append("path or type")
    if set(request) != {"series"}:
        errors.append("members %s" % set(request))
    result = []
    for series in request["series"]:
        if set(series) != {"labels", "samples"} or set(series["labels"]) != {"labels"}:
            errors.append("series")
        labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
        if labels.get("__name__") != "xpuload" or not labels.get("host") or \
                labels.get("cluster") != "x":
            errors.append("labels %s" % labels)
        for sample in series["samples"]:
            if set(sample) != {"rawProfile"}:
                errors.append("sample")
            result.append(check_pprof(base64.b64decode(sample["rawProfile"], validate=True), None,
                                      None, errors))
    return result


def check_otlp(path, query, headers, body, errors):
    if path != "/v1development/profiles" or query or \
            headers["content-type"] != "application/x-protobuf":
        errors.append("path or type")
    r = profiles_service_pb2.ExportProfilesServiceRequest.FromString(body)
    d = r.dictionary
    tables = {
        "string": d.string_table, "function": d.function_table, "mapping": d.mapping_table,
        "location": d.location_table, "stack": d.stack_table, "attribute": d.attribute_table,
    }
    used = {name: {0} for name in tables}

    def use(table, index):
        if not 0 <= index < len(tables[table]):
            errors.append("index %d of %s" % (index, table))
            return tables[table][0]
        used[table].add(index)
        return tables[table][index]

    for name, table in tables.items():
        if not table or (table[0] != "" if name == "string" else table[0] != type(table[0])()):
            errors.append("the first %s is no zero value" % name)
        seen = [t if name == "string" else t.SerializeToString() for t in table]
        if len(set(seen)) != len(seen):
            errors.append("a %s is there twice" % name)
    if len(d.link_table) != 1:
        errors.append("link table")

    def attributes(indices):
        result = {}
        for i in indices:
            a = use("attribute", i)
            key = use("string", a.key_strindex)
            if key in result:
                errors.append("attribute %s twice" % key)
            result[key] = getattr(a.value, a.value.WhichOneof("value"))
        return result

    def frame(index):
        loc = use("location", index)
        mapping = use("mapping", loc.mapping_index)
        if loc.mapping_index and not use("string", mapping.filename_strindex):
            errors.append("mapping without a file")
        attributes(mapping.attribute_indices)
        type_ = attributes(loc.attribute_indices).get("profile.frame.type")
        if type_ is not None and type_ not in FRAME_TYPES:
            errors.append("frame type %s" % type_)
        if len(loc.lines) != 1:
            errors.append("lines of a location")
        function = use("function", loc.lines[0].function_index)
        use("string", function.system_name_strindex)
        return use("string", function.name_strindex), type_

    result = []
    for resource in r.resource_profiles:
        about = {a.key: getattr(a.value, a.value.WhichOneof("value"))
                 for a in resource.resource.attributes}
        if not about.get("host.name") or not about.get("service.name") or \
                about.get("process.pid", 0) <= 0 or \
                not about.get("process.executable.name"):
            errors.append("resource %s" % about)
        want = json.loads(os.environ.get("RECEIVER_RESOURCE", "{}"))
        if {key: about.get(key) for key in want} != want:
            errors.append("resource %s" % about)
        for scope in resource.scope_profiles:
            if scope.scope.name != "xpuload" or not scope.scope.version:
                errors.append("scope")
            for p in scope.profiles:
                kind = use("string", p.sample_type.type_strindex)
                if kind not in KINDS or use("string", p.sample_type.unit_strindex) != "nanoseconds":
                    errors.append("sample type %s" % kind)
                if use("string", p.period_type.type_strindex) != kind or p.period < 1 or \
                        use("string", p.period_type.unit_strindex) != "nanoseconds":
                    errors.append("period")
                if not -900e9 < p.time_unix_nano - time.time() * 1e9 < 5e9 or \
                        not 0 < p.duration_nano < 60e9:
                    errors.append("time")
                if len(p.profile_id) != 16 or not any(p.profile_id):
                    errors.append("profile id")
                sums, identities = {}, set()
                for s in p.samples:
                    about = attributes(s.attribute_indices)
                    if not about.get("thread.name") or (kind.startswith("gpu") and
                                                        "device" not in about):
                        errors.append("sample's attributes %s" % about)
                    identity = (s.stack_index, tuple(sorted(s.attribute_indices)))
                    if identity in identities:
                        errors.append("a sample is there twice")
                    identities.add(identity)
                    if len(s.values) != 1 or s.timestamps_unix_nano or s.link_index:
                        errors.append("values of a sample")
                    frames = [frame(i) for i in use("stack", s.stack_index).location_indices]
                    if kind.startswith("gpu") and frames[0][1] != "cuda":
                        errors.append("what ran is not of type cuda: %s" % (frames[0],))
                    stack = ";".join(name for name, _ in reversed(frames))
                    sums[stack] = sums.get(stack, 0) + s.values[0]
                result.append((kind, sums))
    for name, table in tables.items():
        if len(used[name]) != len(table):
            errors.append("%d of a table are never used: %s" % (len(table) - len(used[name]), name))
    return result


CHECKS = {"/ingest": check_pyroscope, "/profiles/writeraw": check_parca,
          "/v1development/profiles": check_otlp}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def log_request_line(self, what):
        with self.server.lock, open(sys.argv[2], "a") as f:
            f.write(json.dumps(what) + "\n")

    def answer(self, status, body=b"", type_="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", type_)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with open(sys.argv[3]) as f:
            mode = f.read().strip()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        # On a busy machine, the sender must not wait for the checks.
        if mode == "ok":
            self.answer(200)
            self.wfile.flush()
        errors, profiles = [], []
        try:
            check = CHECKS.get(url.path)
            profiles = check(url.path, query, self.headers, body, errors) if check else []
        except Exception as e:  # a receiver reports any input that it could not read
            errors.append(repr(e))
        totals = {}
        stacks = {}
        for kind, sums in profiles:
            totals[kind] = totals.get(kind, 0) + sum(sums.values())
            for stack, value in sums.items():
                stacks[kind + " " + stack] = stacks.get(kind + " " + stack, 0) + value
        self.log_request_line({"path": url.path, "mode": mode, "errors": errors[:5],
                               "totals": totals,
                               "stacks": {} if os.environ.get("RECEIVER_BRIEF") else stacks,
                               "auth": self.headers.get("authorization"),
                               "id": hashlib.sha256(body).hexdigest(),
                               "bytes": len(body)})
        if mode == "stall":
            time.sleep(60)
        elif mode == "garbage":
            self.wfile.write(b"\0\377 nothing of HTTP\r\n\r\n")
            self.close_connection = True
        elif mode == "long":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass
            self.close_connection = True
        elif mode == "lie":
            response = profiles_service_pb2.ExportProfilesServiceResponse()
            response.partial_success.rejected_profiles = 1
            response.partial_success.error_message = "not\033[31m here"
            self.answer(200, response.SerializeToString(), "application/x-protobuf")
        elif mode != "ok":
            self.answer(int(mode), b"as asked\033[31m for\nand more")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1",
                                              int(os.environ.get("RECEIVER_PORT", "0"))), Handler)
    server.daemon_threads = True
    server.lock = threading.Lock()
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
