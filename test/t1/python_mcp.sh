#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# python -m xpuload mcp: the Model Context Protocol, questions about recordings whose answers are
# known, size limits of answers, and hostile messages.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
use_package
gen="$XPU_BUILD/gen_data"
"$gen" -o a.data --launches 900 --threads 4 --procs 2 --memcpy-every 5
"$gen" -o b.data --launches 1200 --threads 4 --memcpy-every 5
"$gen" -o lossy.data --launches 700 --threads 2 --lose-launch 7 --lose-record 9
"$gen" -o many.data --launches 4000 --paths 1500 --threads 4
printf garbage >garbage.data

# A client that asks one question at a time; the server must answer each question.
cat >client.py <<'END'
import json
import subprocess
import sys


class Client:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-m", "xpuload", "mcp"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.nr = 0

    def send(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n") and len(line) < 200000, len(line)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message)
        return message

    def ask(self, method, **params):
        self.nr += 1
        self.send({"jsonrpc": "2.0", "id": self.nr, "method": method, "params": params})
        message = self.answer()
        assert message["id"] == self.nr, message
        return message

    def call(self, tool, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        text = result["content"][0]["text"]
        assert result["content"][0]["type"] == "text" and len(result["content"]) == 1
        if result["isError"]:
            return text
        assert json.loads(text) == result["structuredContent"]
        return result["structuredContent"]

    def code(self, data):
        self.send(data)
        return self.answer()["error"]["code"]

    def end(self):
        self.process.stdin.close()
        assert self.process.stdout.read() == b"" and self.process.wait(60) == 0
END
PYTHONPATH=$PYTHONPATH:$PWD

: >python.out
: >python.err
before=$(ls)

python "the protocol: versions, tools with schemas, notifications, the end of input" <<'END'
from client import Client

c = Client()
first = c.ask("initialize", protocolVersion="2025-03-26", capabilities={},
              clientInfo={"name": "test", "version": "1"})["result"]
assert first["protocolVersion"] == "2025-03-26" and "tools" in first["capabilities"]
assert first["serverInfo"]["name"] == "xpuload" and first["serverInfo"]["version"]
assert c.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-06-18"
c.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
assert c.ask("ping")["result"] == {}
tools = c.ask("tools/list")["result"]["tools"]
assert [tool["name"] for tool in tools] == ["summarize", "table", "call_paths", "diff"]
for tool in tools:
    schema = tool["inputSchema"]
    assert schema["type"] == "object" and tool["description"]
    assert set(schema["required"]) <= set(schema["properties"])
c.end()
END

python "questions with known answers, losses first" <<'END'
import json
from client import Client

c = Client()
answer = c.call("summarize", recording="a.data")
assert list(answer)[0] == "losses" and answer["losses"][0] == \
    "launches 900 matched 900 unmatched 0 lost 0", answer["losses"]
assert answer["account"]["launches"] == 900 and answer["devices"][0]["count"] == 900
assert answer["tables_with_rows"]["kernels"] and "_ns: nanoseconds" in answer["units"]
kernels = c.call("table", recording="a.data", name="kernels", limit=200)
copies = c.call("table", recording="a.data", name="memory_time")
assert sum(row["instances"] for row in kernels["rows"]) + copies["rows"][0]["count"] == 900
assert kernels["rows_left_out"] == 0
one = kernels["rows"][0]["name"]
found = c.call("table", recording="a.data", name="kernels", match={"name": one})
assert [row["name"] for row in found["rows"]] == [one]
by_count = c.call("table", recording="a.data", name="kernels", sort="instances")["rows"]
counts = [row["instances"] for row in by_count]
assert counts == sorted(counts, reverse=True) and len(set(counts)) > 1
paths = c.call("call_paths", recording="a.data", limit=200)
assert sum(row["instances"] for row in paths["rows"]) == 900
pid = c.call("table", recording="a.data", name="processes")["rows"][0]["pid"]
part = c.call("call_paths", recording="a.data", pid=str(pid), limit=200)
assert 0 < sum(row["instances"] for row in part["rows"]) < 900
assert c.call("call_paths", recording="a.data", frame="no such frame")["rows"] == []
change = c.call("diff", before="a.data", after="b.data")
assert list(change)[0] == "losses_before" and change["rows"]
assert all(row["change_ns"] == row["after_ns"] - row["before_ns"] for row in change["rows"])
assert c.call("diff", before="a.data", after="a.data")["rows"] == []
lost = c.call("summarize", recording="lossy.data")
assert lost["account"]["lost"] > 0 and len(lost["losses"]) > 1
c.end()
END

python "answers are bounded, and say what they leave out" <<'END'
import json
from client import Client

c = Client()
few = c.call("call_paths", recording="many.data")
assert len(few["rows"]) == 20 and few["rows_in_all"] == 20 + few["rows_left_out"] > 300, few
many = c.call("call_paths", recording="many.data", limit=200)
assert len(many["rows"]) + many["rows_left_out"] == many["rows_in_all"]
assert len(json.dumps(many)) < 70000 and 20 < len(many["rows"]) <= 200
assert len(json.dumps(c.call("summarize", recording="many.data", limit=200))) < 130000
c.end()
END

python "errors: of a question as text, of the protocol by their codes; the server goes on" <<'END'
from client import Client

c = Client()
assert "No such file" in c.call("summarize", recording="nothing.data")
assert "garbage.data" in c.call("summarize", recording="garbage.data")
assert "a\x00b" in c.call("summarize", recording="a\x00b")
assert "no column nonsense; its columns are time_percent" in \
    c.call("table", recording="a.data", name="kernels", sort="nonsense")

assert c.ask("tools/call", name="nonsense")["error"]["code"] == -32602
for arguments in ({}, {"recording": "a.data"}, {"recording": "a.data", "name": "nonsense"}, {"recording": 1},
                  {"recording": "a.data", "name": "kernels", "x": 1},
                  {"recording": "a.data", "name": "kernels", "limit": 0},
                  {"recording": "a.data", "name": "kernels", "limit": 201},
                  {"recording": "a.data", "name": "kernels", "limit": True},
                  {"recording": "a.data", "name": "kernels", "output": "x"}):
    assert c.ask("tools/call", name="table", arguments=arguments)["error"]["code"] == -32602
assert c.ask("tools/call", name="table", arguments=[])["error"]["code"] == -32602
assert c.ask("nonsense")["error"]["code"] == -32601
assert c.code(b"{") == c.code(b"\xff\xfe") == c.code(b"[" * 100000) == -32700
assert c.code(b"[]") == c.code(b"1") == c.code(b'{"id": 1, "method": "ping"}') == -32600
assert c.code({"jsonrpc": "2.0", "id": [], "method": "ping"}) == -32600
assert c.code({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}) == -32602
assert c.code(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"a" * 3000000 + b'"}') == -32700
c.send(b"")
c.send({"jsonrpc": "2.0", "id": 5, "result": {}})
assert c.ask("ping")["result"] == {}
c.end()
END
is "$(ls)" "$before" "no file was written"
done_testing
