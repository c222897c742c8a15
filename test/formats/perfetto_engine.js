/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perfetto_engine.js - Perfetto's trace processor, which its UI uses to read traces
 *
 * XPU_PERFETTO names the directory of its files: a script for a web worker, and WebAssembly. Here
 * the script runs in this process, after changes in three places.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");
const { pathToFileURL } = require("url");

const dir = process.env.XPU_PERFETTO;
const CHUNK_BYTES = 32 << 20;

function script() {
	const edits = [
		["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
		["locateFile: (s) => s,",
			"locateFile: (s) => s, wasmBinary: globalThis.perfettoWasm,"],
		["const wasmBridge = new wasm_bridge_1.WasmBridge();",
		 "const wasmBridge = globalThis.perfettoBridge = new wasm_bridge_1.WasmBridge();"],
	];
	let text = fs.readFileSync(path.join(dir, "engine_bundle.node.js"), "utf8");

	for (const [from, to] of edits) {
		if (!text.includes(from))
			throw new Error(`the script has changed: no '${from}'`);
		text = text.replace(from, to);
	}
	return text;
}

/* Return: an engine that has read @file; its rows(sql) returns an array of objects. */
async function load(file) {
	const { EngineBase } = await import(pathToFileURL(path.join(dir, "engine.mjs")).href);
	const { port1, port2 } = new MessageChannel();

	class Engine extends EngineBase {
		constructor() {
			super();
			this.mode = "WASM";
			this.id = file;
			port2.onmessage = m => this.onRpcResponseBytes(m.data);
		}
		rpcSendRequestBytes(bytes) {
			port2.postMessage(bytes);
		}
		async rows(sql) {
			const result = await this.query(sql), rows = [];

			if (result.error())
				throw new Error(`${sql}: ${result.error()}`);
			for (const it = result.iter({}); it.valid(); it.next())
				rows.push(Object.fromEntries(result.columns().map(c => {
					const value = it.get(c);

					return [c, typeof value === "bigint" ?
						Number(value) : value];
				})));
			return rows;
		}
		[Symbol.dispose]() {
			port2.close();
		}
	}

	/* The engine sends some answers that the package's decoder does not know. */
	console.warn = () => {};
	globalThis.self = globalThis;
	globalThis.WorkerGlobalScope = function () {};
	globalThis.location = { href: pathToFileURL(dir).href + "/" };
	globalThis.perfettoWasm = new Uint8Array(fs.readFileSync(path.join(dir,
		"trace_processor.wasm")));
	vm.runInThisContext(script(), { filename: "engine_bundle.js" });
	globalThis.perfettoBridge.initialize(port1);

	const engine = new Engine(), trace = new Uint8Array(fs.readFileSync(file));

	for (let at = 0; at < trace.length; at += CHUNK_BYTES)
		await engine.parse(trace.subarray(at, at + CHUNK_BYTES));
	await engine.notifyEof();
	return engine;
}

module.exports = { load };
