/* The members of the global "d3fg", which merge/write/page/src/library.js uses. */
export { default as flamegraph } from "d3-flame-graph";
export { select } from "d3-selection";
