/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schema.h - the tables for query engines: their names, columns and encodings
 *
 * doc/tables.md explains all columns; test/t1/tables.sh compares it with this file. Any change that
 * a query could notice, except a new column, increments TABLES_SCHEMA.
 */
#ifndef MERGE_TABLES_SCHEMA_H
#define MERGE_TABLES_SCHEMA_H

#include "model/feature.h"
#include "write/parquet/parquet.h"

#define TABLES_SCHEMA	1

#define TABLES_COLUMN(name, type, encoding, optional) \
	{ #name, PARQUET_##type, PARQUET_##encoding, optional },

/* Each C is (NAME, TYPE, ENCODING, whether the column may be NULL). */
#define LAUNCHES_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(correlation_id, INT64, DELTA, false)		\
	C(time_ns, INT64, DELTA, false)			\
	C(tid, INT64, DICTIONARY, true)			\
	C(comm, STRING, DICTIONARY, false)		\
	C(path_id, INT64, DICTIONARY, false)		\
	C(nvtx, STRING, DICTIONARY, true)		\
	C(api, INT64, DICTIONARY, false)

#define DEVICE_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(correlation_id, INT64, DELTA, true)		\
	C(kind, STRING, DICTIONARY, false)		\
	C(name, STRING, DICTIONARY, false)		\
	C(gpu, INT64, DICTIONARY, false)		\
	C(gpu_name, STRING, DICTIONARY, true)		\
	C(context, INT64, DICTIONARY, true)		\
	C(stream, INT64, DICTIONARY, true)		\
	C(start_ns, INT64, DELTA, true)			\
	C(duration_ns, INT64, DICTIONARY, false)	\
	C(bytes, INT64, DICTIONARY, true)		\
	C(launch_ns, INT64, DELTA, true)		\
	C(launch_tid, INT64, DICTIONARY, true)		\
	C(tid, INT64, DICTIONARY, true)			\
	C(comm, STRING, DICTIONARY, false)		\
	C(path_id, INT64, DICTIONARY, false)		\
	C(launch_path_id, INT64, DICTIONARY, true)	\
	C(nvtx, STRING, DICTIONARY, true)		\
	C(communicator, INT64, DICTIONARY, true)	\
	C(message_bytes, INT64, DICTIONARY, true)	\
	C(api, INT64, DICTIONARY, false)

#define PATHS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(path_id, INT64, DELTA, false)			\
	C(path, STRING, DICTIONARY, false)		\
	C(path_hash, INT64, DICTIONARY, false)		\
	C(frames, INT64, DICTIONARY, false)		\
	C(place, STRING, DICTIONARY, true)

#define FRAMES_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(path_id, INT64, DICTIONARY, false)		\
	C(depth, INT64, DICTIONARY, false)		\
	C(name, STRING, DICTIONARY, false)		\
	C(file, STRING, DICTIONARY, true)		\
	C(has_name, BOOL, PLAIN, false)

#define PROCESSES_COLUMNS(C)				\
	C(process_id, INT64, PLAIN, false)		\
	C(pid, INT64, PLAIN, true)			\
	C(parent_process_id, INT64, DICTIONARY, true)	\
	C(name, STRING, DICTIONARY, false)		\
	C(host, STRING, DICTIONARY, true)		\
	C(start_ns, INT64, PLAIN, true)			\
	C(exit_ns, INT64, PLAIN, true)			\
	C(exit_status, INT64, DICTIONARY, true)		\
	C(realtime_ns, INT64, DICTIONARY, true)		\
	C(recording, STRING, DICTIONARY, false)		\
	C(command, STRING, DICTIONARY, true)		\
	C(local_rank, INT64, DICTIONARY, true)		\
	C(world_size, INT64, DICTIONARY, true)		\
	C(node, STRING, DICTIONARY, true)		\
	C(job, STRING, DICTIONARY, true)		\
	C(pod, STRING, DICTIONARY, true)		\
	C(namespace, STRING, DICTIONARY, true)		\
	C(container, STRING, DICTIONARY, true)

#define RANGES_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(tid, INT64, DICTIONARY, true)			\
	C(name, STRING, DICTIONARY, false)		\
	C(nvtx, STRING, DICTIONARY, false)		\
	C(start_ns, INT64, DELTA, false)		\
	C(duration_ns, INT64, DICTIONARY, false)	\
	C(communicator, INT64, DICTIONARY, true)	\
	C(message_bytes, INT64, DICTIONARY, true)

#define CALLS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(tid, INT64, DICTIONARY, true)			\
	C(correlation_id, INT64, DELTA, true)		\
	C(name, STRING, DICTIONARY, false)		\
	C(start_ns, INT64, DELTA, false)		\
	C(duration_ns, INT64, DICTIONARY, false)	\
	C(api, INT64, DICTIONARY, false)

#define SAMPLES_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(time_ns, INT64, DELTA, false)			\
	C(period_ns, INT64, DICTIONARY, false)		\
	C(tid, INT64, DICTIONARY, true)			\
	C(comm, STRING, DICTIONARY, false)		\
	C(path_id, INT64, DICTIONARY, false)		\
	C(nvtx, STRING, DICTIONARY, true)

#define WAITS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(kind, STRING, DICTIONARY, false)		\
	C(name, STRING, DICTIONARY, false)		\
	C(time_ns, INT64, DELTA, false)			\
	C(duration_ns, INT64, DICTIONARY, false)	\
	C(tid, INT64, DICTIONARY, true)			\
	C(comm, STRING, DICTIONARY, false)		\
	C(path_id, INT64, DICTIONARY, false)		\
	C(nvtx, STRING, DICTIONARY, true)

#define WINDOWS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(window, INT64, DELTA, false)			\
	C(open_ns, INT64, DELTA, false)			\
	C(close_ns, INT64, DELTA, true)			\
	C(launches, INT64, DICTIONARY, false)

#define LOSSES_COLUMNS(C)				\
	C(recording, STRING, DICTIONARY, false)		\
	C(counter, STRING, DICTIONARY, false)		\
	C(count, INT64, DICTIONARY, false)		\
	C(loss, BOOL, PLAIN, false)			\
	C(meaning, STRING, DICTIONARY, false)

/* Each T is (NAME, COLUMNS). */
#define TABLES(T)			\
	T(launches, LAUNCHES_COLUMNS)	\
	T(device, DEVICE_COLUMNS)	\
	T(paths, PATHS_COLUMNS)		\
	T(frames, FRAMES_COLUMNS)	\
	T(processes, PROCESSES_COLUMNS)	\
	T(ranges, RANGES_COLUMNS)	\
	T(calls, CALLS_COLUMNS)		\
	T(samples, SAMPLES_COLUMNS)	\
	T(waits, WAITS_COLUMNS)		\
	T(windows, WINDOWS_COLUMNS)	\
	T(losses, LOSSES_COLUMNS)

/*
 * A feature's table has the number of the feature. The numbers of the other tables are
 * tables_launches and so on, in the order of TABLES().
 */
#define TABLES_ID(name, columns)	tables_##name,
enum tables_id { TABLES_OF_FEATURES = NR_FEATURES - 1, TABLES(TABLES_ID) NR_TABLES };

struct tables_schema {
	const char *name;
	const struct parquet_column *columns;	/* NULL: the feature has no table */
	size_t nr;
};

struct tables_schema tables__schema(unsigned int table);

#endif /* MERGE_TABLES_SCHEMA_H */
