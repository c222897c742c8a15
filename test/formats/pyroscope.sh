#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the requests of xpuload --push with the requests of Pyroscope's own client for Node.js:
# the endpoint, the names in the query, the labels, and the form of the profile.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
need root bpf shim node
[ -e "$XPU_BUILD/xpuload-push" ] || skip_all "xpuload-push is not built: no headers of libcurl"
protobuf_readers || skip_all "no protoc, or no protobuf for Python"
use_sim
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY

cat >receiver.py <<'END'
import email.parser, email.policy, gzip, http.server, json, sys, urllib.parse
import profile_pb2

class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if self.headers["content-type"].startswith("multipart/"):
            message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                b"Content-Type: " + self.headers["content-type"].encode() + b"\r\n\r\n" + body)
            body = [p.get_payload(decode=True) for p in message.iter_parts()][0]
        p = profile_pb2.Profile.FromString(gzip.decompress(body))
        text = p.string_table
        with open("requests", "a") as f:
            f.write(json.dumps({"spy": query["spyName"], "path": url.path, "query": sorted(query),
                                "labels": "{" in query["name"] and query["name"].endswith("}"),
                                "format": query["format"], "seconds": int(query["until"]) - int(query["from"]),
                                "units": [text[t.unit] for t in p.sample_type], "samples": len(p.sample),
                                "lines": all(loc.line for loc in p.location)}) + "\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open("port", "w").write(str(server.server_address[1]))
server.serve_forever()
END
: >requests
PYTHONPATH=. $python receiver.py 2>receiver.err &
receiver=$!
trap 'kill $receiver' EXIT
wait_for test -s port

cat >client.js <<'END'
const pyroscope = require('@pyroscope/nodejs');
pyroscope.init({ serverAddress: process.argv[2], appName: 'app', tags: { cluster: 'x' },
	wall: { samplingDurationMs: 1000, collectCpuTime: true } });
pyroscope.start();
const end = Date.now() + 2500;
let sum = 0;
(function work() {
	for (let i = 0; i < 1e6; i++)
		sum += Math.sqrt(i);
	if (Date.now() < end)
		setImmediate(work);
	else
		pyroscope.stop().then(() => process.exit(0));
})();
END
node client.js "http://127.0.0.1:$(cat port)" 2>client.err
is $? 0 "the client: exit status 0" || diag "$(cat client.err)"
xpuload -q --every 0.5 --push "pyroscope+http://127.0.0.1:$(cat port)" --push-labels cluster=x \
	"$XPU_BUILD/workload/exact" -t 2 -p 20000 -n 20000 >/dev/null 2>load.log
is $? 0 "xpuload: exit status 0" || diag "$(cat load.log)"

# of SPY: prints the contents that all requests of SPY have in common
of() {
	$python -c "import json
rows = [r for r in map(json.loads, open('requests')) if r['spy'] == '$1']
print(len(rows) > 0, {r['path'] for r in rows}, {r['labels'] for r in rows},
      {r['format'] for r in rows},
      all(r['samples'] and r['lines'] for r in rows),
      sorted(set.intersection(*(set(r['query']) for r in rows)) - {'sampleRate'}))"
}
diag "Pyroscope's client: $(of nodespy)"
diag "xpuload:            $(of xpuload)"
like "$(of nodespy)" "^True .*'/ingest'.* True \\['format', 'from', 'name', 'spyName', 'until'\\]" \
	"the client's requests have arrived"
is "$(of xpuload)" "$(of nodespy)" \
	"endpoint, query, labels and form of the profile are as in Pyroscope's client"
done_testing
