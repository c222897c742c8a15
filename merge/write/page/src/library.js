/* SPDX-License-Identifier: MIT */
/* library.js - d3-flame-graph, which is a script of its own in the page: third_party/ has it */
export const { flamegraph, select: selectElements } = globalThis.d3fg;
