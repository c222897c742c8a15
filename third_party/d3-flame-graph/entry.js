/* What merge/write/page/page.js uses of it, as the global "d3fg". */
export { default as flamegraph } from "d3-flame-graph";
export { select } from "d3-selection";
