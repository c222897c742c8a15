/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * otlp.h - the sums as a request to an OpenTelemetry collector, POST /v1development/profiles
 *
 * Each process is a resource, with host.name, process.pid, process.executable.name, service.name,
 * and rank, pod and other labels that are known. It has a profile for each kind of time
 * (profile_kind.h) of the process. The innermost location of a sample is the work that ran, with
 * profile.frame.type "cuda"; other locations have "native", "cpython" or, for functions of Linux,
 * "kernel". Samples have thread.name, thread.id, and the device's number.
 *
 * Sources: third_party/opentelemetry-proto; OpenTelemetry's semantic conventions,
 * docs/general/profiles.md.
 */
#ifndef MERGE_OTLP_H
#define MERGE_OTLP_H

#include <stdio.h>

#include "join/session.h"
#include "write/profile_kind.h"

/*
 * Writes all sums of @s, which was made with by_thread and by_stream. Return: 0 or -ENOMEM; an
 * error of @f stays in its error flag.
 */
int otlp__write(const struct session *s, const struct profile_time *time, FILE *f);

#endif /* MERGE_OTLP_H */
