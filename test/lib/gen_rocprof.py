#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gen_rocprof.py OUT [KEY=VALUE...] - a file as AMD's rocprofv3 writes it, and the truth

Writes OUT and OUT.folded, the lines that xpumerge --gpu OUT -f folded --unit ns shows. Keys: seed,
nr (launches of each thread), threads, procs, old (one process, no array, queues without streams),
hsa (some device work has the ID of the HSA call inside the HIP call, which is its ancestor),
only_hsa (HIP calls were not traced), names (of kernels: formatted or kernel), ranges (ROCTX), rccl
(launches are inside a function of RCCL), format (json, db for a database, rocpd, or csv for files
whose names begin with OUT), schema (a file of rocprofiler-sdk with the statements that make the
tables of a database), memory (allocations and frees; OUT.allocated and OUT.live are the lines of
--memory), renamed (kernels have the ROCTX range around their launch as name, as --kernel-rename
makes it), marks (each step of ranges begins with a mark and a range without a message), counters,
samples, scratch (how many values of counters, PC samples and scratch memory
events each process has), only_counted (kernels are only among the counters). OUT.pmcs has a list
for each kernel and counter: [kernel, counter, number of kernels, sum, min, max].
"""
import json
import os
import random
import re
import sqlite3
import sys

opts = {"seed": 1, "nr": 20, "threads": 3, "procs": 1, "old": 0, "hsa": 0, "only_hsa": 0,
        "names": "formatted", "ranges": 0, "rccl": 0, "format": "json", "schema": "", "memory": 0,
        "renamed": 0, "marks": 0, "counters": 0, "samples": 0, "scratch": 0, "only_counted": 0}
for arg in sys.argv[2:]:
    key, value = arg.split("=", 1)
    opts[key] = type(opts[key])(value)
rng = random.Random(opts["seed"])
truth, allocated, live, pmcs = {}, {}, {}, {}

KINDS = [("NONE", []), ("HSA_CORE_API", ["hsa_init", "hsa_queue_create",
                                         "hsa_signal_store_relaxed"]),
         ("HIP_RUNTIME_API", ["hipGetDevice", "hipLaunchKernel", "hipMemcpyAsync",
                              "hipStreamSynchronize", "hipMalloc", "hipHostMalloc", "hipFree",
                              "hipMemCreate", "hipMemRelease"]),
         ("MARKER_CORE_RANGE_API", ["roctxThreadRangeA", "roctxMarkA"]),
         ("RCCL_API", ["ncclAllReduce"]),
         ("MEMORY_COPY", ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST",
                          "MEMORY_COPY_HOST_TO_DEVICE",
                          "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"]),
         ("MEMORY_ALLOCATION", ["MEMORY_ALLOCATION_" + x for x in (
             "NONE", "ALLOCATE", "VMEM_ALLOCATE", "FREE", "VMEM_FREE")]),
         ("SCRATCH_MEMORY", ["SCRATCH_MEMORY_NONE", "SCRATCH_MEMORY_ALLOC"]),
         ("KERNEL_DISPATCH", ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE",
                              "KERNEL_DISPATCH_COMPLETE"])]
SHORT = {2: "HtoD", 3: "DtoH", 4: "DtoD"}
COUNTERS = ["SQ_WAVES", "FETCH_SIZE"]
KERNELS = ["transpose(int const*, int*, int, int)", "gemm<float, 8>(\"a;b\")", "addition_kernel"]
GPUS = [(2**63 + 5, 0, "AMD Instinct MI300X"), (77, 1, "AMD Instinct MI210")]


def kind(name):
    return next(i for i, k in enumerate(KINDS) if k[0] == name)


def add(comm, frames, ns, to=None):
    to = truth if to is None else to
    line = ";".join([comm] + [f.replace(";", ":") for f in frames])
    to[line] = to.get(line, 0) + ns


def renames():
    return [{"key": 2**63 + i, "value": "of \"step\" %d" % i} for i in range(opts["nr"])
            if opts["renamed"]]


def shown(r):
    """Returns the name of a dispatch."""
    return {t["key"]: t["value"] for t in renames()}.get(
        r["correlation_id"]["external"], KERNELS[r["dispatch_info"]["kernel_id"] - 10])


def process(pid):
    comm = "app%d" % pid
    hip, hsa, rccl, dispatches, copies, markers, texts = [], [], [], [], [], [], []
    memory, held, scratch = [], [], []
    number = [0]

    def next_id():
        number[0] += 1
        return number[0]

    def record(name, operation, start, end, tid, cid, ancestor=0):
        r = {"size": 56, "kind": kind(name), "operation": operation,
             "correlation_id": {"internal": cid, "external": 0}, "start_timestamp": start,
             "end_timestamp": end, "thread_id": tid}
        if ancestor:
            r["correlation_id"]["ancestor"] = ancestor
        return r

    def allocate(what, start, end, tid, cid, name):
        """Allocates memory of any kind, or frees the process's oldest allocation."""
        if what == "free" and not held:
            return
        gpu, kind_of = rng.choice(GPUS), rng.choice(["device", "pinned", "physical"])
        address, nbytes = 2**46 + (len(memory) % 5) * 4096, rng.randrange(1, 9) * 1000
        while any(address == m[0] for m in held):
            address += 4096
        if what == "free":
            address, kind_of, line, nbytes = held.pop(0)
            live[line] -= nbytes
        else:
            frames = [name] if opts["ranges"] else ["[no stack]"]
            api = {"device": "hipMalloc", "pinned": "hipHostMalloc",
                   "physical": "hipMemCreate"}[kind_of]
            frames += [api, ("[Host_Memory]" if kind_of == "pinned" else
                             "[GPU%d_Memory]" % gpu[1]) + kind_of]
            add(comm, frames, nbytes, allocated)
            add(comm, frames, nbytes, live)
            held.append((address, kind_of, ";".join([comm] + frames), nbytes))
        vmm = kind_of == "physical"
        hip.append(record("HIP_RUNTIME_API", 6 + 2 * vmm if what == "free" else
                          {"device": 4, "pinned": 5, "physical": 7}[kind_of], start, end, tid, cid))
        of, ancestor = cid, 0
        if opts["hsa"]:
            of, ancestor = next_id(), cid
            hsa.append(record("HSA_CORE_API", 2, start + 10, end - 10, tid, of, ancestor))
        m = record("MEMORY_ALLOCATION", (3 if what == "free" else 1) + vmm, start + 20, end - 20,
                   tid, of, ancestor)
        m["agent_id"] = {"handle": 0 if what == "free" else 1 if kind_of == "pinned" else gpu[0]}
        m["address"] = "0x%016x" % address
        m["allocation_size"] = 0 if what == "free" else nbytes
        memory.append(m)

    for thread in range(opts["threads"]):
        # With the option memory, threads run one after the other, because the process frees its
        # oldest allocation.
        tid, now = pid + thread, 5000000000 + rng.randrange(1000)
        now += thread * 10**8 * (opts["memory"] > 0)
        for i in range(opts["nr"]):
            what = rng.choice(["kernel", "kernel", "copy", "other"] +
                              ["make", "free"] * (opts["memory"] > 0))
            name = "step %d" % (i // 5)
            if opts["ranges"] and i % 5 == 0:
                cid = next_id()
                markers.append(record("MARKER_CORE_RANGE_API", 0, now, now + 5 * 10000, tid, cid))
                texts.append({"key": cid, "value": name})
                now += 10
                if opts["marks"]:
                    cid = next_id()
                    markers.append(record("MARKER_CORE_RANGE_API", 1, now, now, tid, cid))
                    texts.append({"key": cid, "value": "mark %d" % (i // 5)})
                    markers.append(record("MARKER_CORE_RANGE_API", 0, now + 10, now + 20, tid,
                                          next_id()))
            start, end, cid = now + 100, now + 2100, next_id()
            now += 10000
            if what == "other":
                hip.append(record("HIP_RUNTIME_API", 0, start, end, tid, cid))
                continue
            if what in ("make", "free"):
                allocate(what, start, end, tid, cid, name)
                continue
            api = 1 if what == "kernel" else 2
            if opts["rccl"]:
                rccl.append(record("RCCL_API", 0, start - 50, end + 50, tid, next_id()))
            # Device work may have the ID of an HSA call.
            of, ancestor = cid, 0
            if opts["hsa"] and rng.random() < 0.5:
                of, ancestor = next_id(), cid
                hsa.append(record("HSA_CORE_API", 2, start + 10, end - 10, tid, of, ancestor))
            elif opts["only_hsa"]:
                hsa.append(record("HSA_CORE_API", 2, start + 10, end - 10, tid, of))
            if not opts["only_hsa"]:
                hip.append(record("HIP_RUNTIME_API", api, start, end, tid, cid))
            gpu = rng.choice(GPUS)
            ns = rng.randrange(1, 9000)
            root = ["ncclAllReduce"] if opts["rccl"] else [name] if opts["ranges"] else \
                ["[no stack]"]
            root.append(KINDS[kind("HSA_CORE_API")][1][2] if opts["only_hsa"] else
                        KINDS[kind("HIP_RUNTIME_API")][1][api])
            label = "[GPU%d_" % gpu[1]
            place = {"stream_id": {"handle": 3}}
            if what == "kernel":
                k = rng.randrange(len(KERNELS))
                r = record("KERNEL_DISPATCH", 2, end + 500, end + 500 + ns, tid, of)
                r["dispatch_info"] = {
                    "size": 64, "agent_id": {"handle": gpu[0]}, "queue_id": {"handle": 2**63 + 1},
                    "kernel_id": 10 + k, "dispatch_id": number[0],
                    "workgroup_size": {"x": 64, "y": 1, "z": 1},
                    "grid_size": {"x": 64, "y": 1, "z": 1}}
                if opts["renamed"] and i % 5:
                    r["correlation_id"]["external"] = 2**63 + i // 5
                dispatches.append(r)
                add(comm, root + [label + "Kernel]" + shown(r)], ns)
            else:
                op = rng.choice([2, 3, 4])
                r = record("MEMORY_COPY", op, end + 500, end + 500 + ns, tid, of)
                cpu, one = {"handle": 1}, {"handle": gpu[0]}
                r["dst_agent_id"], r["src_agent_id"] = (cpu, one) if op == 3 else (one, cpu)
                r["bytes"] = 4096
                copies.append(r)
                add(comm, root + [label + "Memcpy]" + SHORT[op]], ns)
            if not opts["old"]:
                r.update(place)
    for i in range(opts["scratch"]):
        scratch.append(record("SCRATCH_MEMORY", 1, 5000000000, 5000000001, pid, 0))
        scratch[-1]["agent_id"] = {"handle": GPUS[0][0]}
    counted = [{"thread_id": r["thread_id"], "records": [],
                "dispatch_data": {k: v for k, v in r.items() if k not in ("thread_id", "kind")}}
               for r in dispatches]
    for i in range(opts["counters"] if counted else 0):
        # A dispatch has several values of a counter, which add up.
        to, counter = counted[i % len(counted)], i // len(counted) % len(COUNTERS)
        to["records"].append({"counter_id": {"handle": 70 + counter}, "value": 1.5 + i})
        key = (shown(to["dispatch_data"]), COUNTERS[counter])
        values = pmcs.setdefault(key, {})
        where = (pid, to["dispatch_data"]["dispatch_info"]["dispatch_id"])
        values[where] = values.get(where, 0) + 1.5 + i
    symbols = [{"kernel_id": 10 + i, "code_object_id": 1, "kernel_name": k}
               if opts["names"] == "kernel" else
               {"kernel_id": 10 + i, "kernel_name": "_Z%d.kd" % i, "formatted_kernel_name": k,
                "truncated_kernel_name": "k"} for i, k in enumerate(KERNELS)]
    agents = [{"size": 312, "id": {"handle": 1}, "type": 1, "name": "AMD EPYC",
               "logical_node_type_id": 0}]
    agents += [{"id": {"handle": h}, "type": 2, "name": "gfx942", "product_name": n,
                "logical_node_type_id": i, "mem_banks": [], "caches": [{"size": 1}]}
               for h, i, n in GPUS]
    return {
        "metadata": {"pid": pid, "init_time": 1, "fini_time": 9, "config": {"x": [1, {"y": 2}]},
                     "command": ["/usr/bin/" + comm, "-n", "3"]},
        "agents": agents, "counters": [
            {"agent_id": {"handle": GPUS[0][0]}, "id": {"handle": 70 + i}, "name": name}
            for i, name in enumerate(COUNTERS)],
        "strings": {"callback_records": [], "buffer_records": [
            {"kind": k, "operations": o} for k, o in KINDS],
                    "marker_api": texts, "correlation_id": {"external": renames()}},
        "code_objects": [], "kernel_symbols": symbols, "host_functions": [], "summary": [],
        "callback_records": {"counter_collection": counted if opts["counters"] else []},
        "buffer_records": {"kernel_dispatch": [] if opts["only_counted"] else dispatches,
                           "memory_allocation": memory, "pc_sample_host_trap": [
                               {"record": {"timestamp": i, "dispatch_id": 1}, "inst_index": i}
                               for i in range(opts["samples"])], "hip_api": hip, "hsa_api": hsa,
                           "marker_api": markers, "memory_copy": copies, "rccl_api": rccl,
                           "scratch_memory": scratch}}


# The tables of a database, without the columns that xpumerge does not read.
TABLES = {
    "metadata": "tag, value", "string": "guid, string UNIQUE", "info_node": "hash, machine_id",
    "info_process": "nid, ppid, pid, command", "info_thread": "nid, pid, tid, name",
    "info_agent": "nid, pid, type, absolute_index, type_index, name, product_name",
    "info_queue": "nid, pid, name", "info_stream": "nid, pid, name",
    "info_code_object": "nid, pid",
    "info_kernel_symbol": "nid, pid, code_object_id, kernel_name, display_name",
    "event": "category_id, stack_id, parent_stack_id, correlation_id, extdata",
    "region": "nid, pid, tid, start, end, name_id, event_id",
    "kernel_dispatch": "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, "
                       "start, end, private_segment_size, group_segment_size, workgroup_size_x, "
                       "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, "
                       "grid_size_z, region_name_id, event_id",
    "memory_copy": "nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, "
                   "stream_id, event_id",
    "info_pmc": "nid, pid, name, symbol", "pmc_event": "event_id, pmc_id, value",
    "memory_allocate": "nid, pid, tid, agent_id, type, level, start, end, address, size, event_id",
}


def write_database(out, procs):
    """Writes what rocprofiler-sdk's generateRocpd.cpp writes for these records."""
    if os.path.exists(out):
        os.unlink(out)
    db = sqlite3.connect(out)
    schema = open(opts["schema"]).read() if opts["schema"] else "".join(
        'CREATE TABLE "rocpd_%s{{uuid}}" (id INTEGER PRIMARY KEY, %s);' % t
        for t in TABLES.items())
    for p in procs:
        pid = p["metadata"]["pid"]
        uuid = "_0000ddb5_8903_7903_b269_%012x" % pid
        db.executescript(re.sub(r"{{guid}}", uuid[1:].replace("_", "-"),
                                re.sub(r"{{uuid}}", uuid, schema)))
        buffers, strings, messages = p["buffer_records"], {}, {}

        def insert(table, values, uuid=uuid):
            db.execute('INSERT OR IGNORE INTO "rocpd_%s%s" (%s) VALUES (%s)' % (
                table, uuid, ", ".join(values), ", ".join("?" * len(values))),
                       list(values.values()))

        def string(text):
            if text not in strings:
                strings[text] = len(strings) + 1
                insert("string", {"id": strings[text], "string": text})
            return strings[text]

        events = [0]

        def event(r):
            events[0] += 1
            c, name = r["correlation_id"], KINDS[r["kind"]][0]
            text = messages.get(c["internal"]) if name.startswith("MARKER") else None
            insert("event", {"id": events[0], "category_id": string(name),
                             "stack_id": c["internal"],
                             "parent_stack_id": c.get("ancestor", c["internal"] if name in (
                                 "KERNEL_DISPATCH", "MEMORY_COPY") else 0),
                             "correlation_id": c["external"] % 2**63,
                             "extdata": json.dumps({"message": text}) if text else "{}"})
            insert("info_thread", {"id": r["thread_id"], "nid": 1, "pid": pid,
                                   "tid": r["thread_id"]})
            return {"nid": 1, "pid": pid, "tid": r["thread_id"], "start": r["start_timestamp"],
                    "end": r["end_timestamp"], "event_id": events[0]}

        messages.update((m["key"], m["value"]) for m in p["strings"]["marker_api"])
        insert("info_node", {"id": 1, "hash": 1, "machine_id": "m"})
        insert("info_process", {"id": pid, "nid": 1, "ppid": 1, "pid": pid,
                                "command": " ".join(p["metadata"]["command"])})
        insert("info_code_object", {"id": 1, "nid": 1, "pid": pid})
        agents = {}
        for i, a in enumerate(p["agents"]):
            agents[a["id"]["handle"]] = i
            insert("info_agent", {"id": i, "nid": 1, "pid": pid,
                                  "type": "GPU" if a["type"] == 2 else "CPU", "absolute_index": i,
                                  "type_index": a["logical_node_type_id"], "name": a["name"],
                                  "product_name": a.get("product_name")})
        for k in p["kernel_symbols"]:
            insert("info_kernel_symbol", {"id": k["kernel_id"], "nid": 1, "pid": pid,
                                          "code_object_id": 1, "kernel_name": k["kernel_name"],
                                          "display_name": k.get("formatted_kernel_name")})
        for i in (0, 2**63 - 1):
            insert("info_queue", {"id": i, "nid": 1, "pid": pid})
        for i in (0, 3):
            insert("info_stream", {"id": i, "nid": 1, "pid": pid})
        for r in buffers["hip_api"] + buffers["hsa_api"] + buffers["marker_api"] + \
                buffers["rccl_api"]:
            insert("region", {"id": r["correlation_id"]["internal"], **event(r),
                              "name_id": string(KINDS[r["kind"]][1][r["operation"]])})
        kernel_events = {}
        for r in buffers["kernel_dispatch"]:
            d = r["dispatch_info"]
            kernel_events[d["dispatch_id"]] = events[0] + 1
            insert("kernel_dispatch", {
                "id": d["dispatch_id"], **event(r), "agent_id": agents[d["agent_id"]["handle"]],
                "kernel_id": d["kernel_id"], "dispatch_id": d["dispatch_id"],
                "region_name_id": string(shown(r) if r["correlation_id"]["external"] else ""),
                "queue_id": min(d["queue_id"]["handle"], 2**63 - 1),
                "stream_id": r.get("stream_id", {"handle": 0})["handle"],
                "private_segment_size": 0, "group_segment_size": 0,
                **{"%s_size_%s" % (to, x): d["%s_size" % to][x]
                   for to in ("workgroup", "grid") for x in "xyz"}})
        for r in buffers["memory_copy"]:
            insert("memory_copy", {
                **event(r), "name_id": string(KINDS[r["kind"]][1][r["operation"]]),
                "dst_agent_id": agents[r["dst_agent_id"]["handle"]],
                "src_agent_id": agents[r["src_agent_id"]["handle"]], "size": r["bytes"],
                "stream_id": r.get("stream_id", {"handle": 0})["handle"]})
        for r in buffers["memory_allocation"] + buffers["scratch_memory"]:
            name = KINDS[r["kind"]][1][r["operation"]]
            freed = name.endswith("FREE")
            insert("memory_allocate", {
                **event(r), "type": "FREE" if freed else "ALLOC",
                "level": "SCRATCH" if "SCRATCH" in name else "VIRTUAL" if "VMEM" in name else
                         "REAL", "address": int(r.get("address", "0"), 16),
                "agent_id": None if freed else agents[r["agent_id"]["handle"]],
                "size": r.get("allocation_size", 0)})
        for i, name in enumerate(COUNTERS):
            insert("info_pmc", {"id": 70 + i, "nid": 1, "pid": pid, "name": name, "symbol": name})
        for c in p["callback_records"]["counter_collection"]:
            for r in c["records"]:
                insert("pmc_event", {
                    "event_id": kernel_events[c["dispatch_data"]["dispatch_info"]["dispatch_id"]],
                    "pmc_id": r["counter_id"]["handle"], "value": r["value"]})
    db.commit()


processes = [process(1000 * (1 + i)) for i in range(opts["procs"])]
def write_csv(out, p):
    """Writes what rocprofiler-sdk's generateCSV.cpp writes: one file for each kind of record"""
    pid, symbols = p["metadata"]["pid"], {}
    for k in p["kernel_symbols"]:
        symbols[k["kernel_id"]] = k.get("formatted_kernel_name", k["kernel_name"])
    texts = {m["key"]: m["value"] for m in p["strings"]["marker_api"]}
    agents = {a["id"]["handle"]: i for i, a in enumerate(p["agents"])}

    def write(kind, header, rows):
        if not rows:
            return
        with open("%s_%s.csv" % (out, kind), "w") as f:
            for row in [header.split()] + rows:
                f.write(",".join('"%s"' % v if isinstance(v, str) else str(v)
                                 for v in row) + "\n")

    def operation(r):
        return KINDS[r["kind"]][1][r["operation"]]

    def ids(r):
        return [r["correlation_id"]["internal"], r["start_timestamp"], r["end_timestamp"]]

    times = "Correlation_Id Start_Timestamp End_Timestamp"
    for kind, name in (("hip_api", "hip_api_trace"), ("hsa_api", "hsa_api_trace"),
                       ("marker_api", "marker_api_trace"), ("rccl_api", "rccl_api_trace")):
        write(name, "Domain Function Process_Id Thread_Id " + times, [
            [KINDS[r["kind"]][0], texts.get(r["correlation_id"]["internal"]) or operation(r), pid,
             r["thread_id"], *ids(r)] for r in p["buffer_records"][kind]])
    write("kernel_trace", "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id "
          "Kernel_Name " + times + " LDS_Block_Size Workgroup_Size_X Workgroup_Size_Y "
          "Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z", [
              ["KERNEL_DISPATCH", "Agent %d" % agents[d["agent_id"]["handle"]], 1, 3,
               r["thread_id"], d["dispatch_id"], d["kernel_id"],
               shown(r), *ids(r), 0,
               *(d[s + "_size"][x] for s in ("workgroup", "grid") for x in "xyz")]
              for r in p["buffer_records"]["kernel_dispatch"] for d in [r["dispatch_info"]]])
    write("memory_copy_trace", "Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id "
          + times, [
              ["MEMORY_COPY", operation(r), 3, "Agent %d" % agents[r["src_agent_id"]["handle"]],
               "Agent %d" % agents[r["dst_agent_id"]["handle"]], *ids(r)]
              for r in p["buffer_records"]["memory_copy"]])
    write("memory_allocation_trace", "Kind Operation Agent_Id Allocation_Size Address " + times, [
        ["MEMORY_ALLOCATION", operation(r), "Agent %d" % agents[r["agent_id"]["handle"]]
         if r["agent_id"]["handle"] else "", r["allocation_size"], r["address"], *ids(r)]
        for r in p["buffer_records"]["memory_allocation"]])
    write("pc_sampling_host_trap", "Sample_Timestamp Exec_Mask Dispatch_Id Instruction "
          "Instruction_Comment Correlation_Id", [
              [i, 1, 1, "s_endpgm", "", 1] for i in range(opts["samples"])])
    write("counter_collection", "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id "
          "Kernel_Name Counter_Name Counter_Value Start_Timestamp End_Timestamp", [
              [d["correlation_id"]["internal"], d["dispatch_info"]["dispatch_id"],
               "Agent %d" % agents[d["dispatch_info"]["agent_id"]["handle"]], 1, pid,
               c["thread_id"], symbols[d["dispatch_info"]["kernel_id"]],
               COUNTERS[v["counter_id"]["handle"] - 70], v["value"],
               d["start_timestamp"], d["end_timestamp"]]
              for c in p["callback_records"]["counter_collection"] for d in [c["dispatch_data"]]
              for v in c["records"]])
    write("agent_info", "Node_Id Logical_Node_Id Agent_Type Name Product_Name", [
        [i, i, "GPU" if a["type"] == 2 else "CPU", a["name"], a.get("product_name", "")]
        for i, a in enumerate(p["agents"])])


if opts["format"] == "csv":
    write_csv(sys.argv[1], processes[0])
elif opts["format"] == "db":
    write_database(sys.argv[1], processes)
else:
    with open(sys.argv[1], "w") as f:
        json.dump({"rocprofiler-sdk-tool": processes[0] if opts["old"] else processes}, f,
                  indent=None if opts["seed"] % 2 else 1)
for name, lines in (("folded", truth), ("allocated", allocated), ("live", live)):
    with open("%s.%s" % (sys.argv[1], name), "w") as f:
        for key in sorted(lines):
            if lines[key]:
                f.write("%s %d\n" % (key, lines[key]))
with open(sys.argv[1] + ".pmcs", "w") as f:
    json.dump(sorted([*key, len(v), sum(v.values()), min(v.values()), max(v.values())]
                     for key, v in pmcs.items()), f)
