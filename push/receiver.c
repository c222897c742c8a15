// SPDX-License-Identifier: MIT
#include "receiver.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceResponse
	response_msg;

/* These macros shorten the long names that protoc-c makes. */
#define COLLECTOR(t)	opentelemetry__proto__collector__profiles__v1development__##t
#define RESPONSE(verb)	COLLECTOR(export_profiles_service_response__##verb)

#define WHY_BYTES	256
#define APPLICATION	"xpuload"

/* Calls @label for the host and for each of the user's labels. */
static void receiver__each_label(const struct receiver *r,
				 void (*label)(void *ctx, const char *key, size_t key_len,
					       const char *value, size_t value_len),
				 void *ctx)
{
	const char *at = r->labels, *end, *equals;

	label(ctx, "host", 4, r->host, strlen(r->host));
	for (; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, ",");
		equals = memchr(at, '=', end - at);
		if (equals)
			label(ctx, at, equals - at, equals + 1, end - equals - 1);
	}
}

/* ---- Pyroscope ------------------------------------------------------------------------------- */

struct name {
	FILE *f;
	bool more;
};

/*
 * Adds a label to the profile's name. Replaces characters that would end the label in Pyroscope's
 * syntax.
 */
static void name__add(void *ctx, const char *key, size_t key_len, const char *value,
		      size_t value_len)
{
	struct name *n = ctx;
	size_t i;

	fprintf(n->f, "%s%.*s=", n->more ? "," : "", (int)key_len, key);
	for (i = 0; i < value_len; i++)
		putc(strchr("{},=\"", value[i]) ? '_' : value[i], n->f);
	n->more = true;
}

/* Return: "xpuload{host=a,cluster=b}", to be freed, or NULL if memory runs out. */
static char *receiver__name(const struct receiver *r)
{
	struct name n = { 0 };
	char *text = NULL;
	size_t size;

	n.f = open_memstream(&text, &size);
	if (!n.f)
		return NULL;
	fputs(APPLICATION "{", n.f);
	receiver__each_label(r, name__add, &n);
	putc('}', n.f);
	if (!fclose(n.f))
		return text;
	free(text);
	return NULL;
}

/*
 * Sends the same form as Pyroscope's clients for Go, which also send profiles other than CPU time.
 */
static int send_pyroscope(struct receiver *r, const struct profile *p, long timeout_ms,
			  struct http_answer *a)
{
	char *name = receiver__name(r), *escaped = name ? http__escape(r->http, name) : NULL;
	char *url = NULL;
	char config[128];
	struct http_part parts[] = {
		{ "profile", "profile.pprof", "application/octet-stream", p->data, p->bytes },
		{ "sample_type_config", "sample_type_config.json", "application/json", config, 0 },
	};
	struct http_request request = { .parts = parts, .nr_parts = 2 };
	int err = -1;

	snprintf(config, sizeof(config),
		 "{\"%s\":{\"units\":\"nanoseconds\",\"aggregation\":\"sum\"}}", p->kind);
	parts[1].bytes = strlen(config);
	if (escaped &&
	    asprintf(&url, "%s?name=%s&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName="
		     APPLICATION, r->url.url, escaped, p->start_ns / 1000000000,
		     (p->end_ns + 999999999) / 1000000000) > 0) {
		request.url = url;
		http__post(r->http, &request, timeout_ms, a);
		err = 0;
	}
	free(url);
	free(escaped);
	free(name);
	return err;
}

/* ---- Parca ----------------------------------------------------------------------------------- */

/* Return: @data in base64, to be freed, or NULL if memory runs out. */
static char *base64(const uint8_t *data, size_t bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((bytes + 2) / 3 * 4 + 1), *to = text;
	uint32_t word;
	size_t i;

	for (i = 0; text && i < bytes; i += 3) {
		word = data[i] << 16 | (i + 1 < bytes ? data[i + 1] << 8 : 0) |
		       (i + 2 < bytes ? data[i + 2] : 0);
		*to++ = digits[word >> 18];
		*to++ = digits[word >> 12 & 63];
		*to++ = i + 1 < bytes ? digits[word >> 6 & 63] : '=';
		*to++ = i + 2 < bytes ? digits[word & 63] : '=';
	}
	if (text)
		*to = '\0';
	return text;
}

static void put_json_text(struct json_out *j, const char *key, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	json_out__key(j, key);
	json_out__string(j, copy ? copy : "");
	free(copy);
}

static void put_json_label(void *ctx, const char *key, size_t key_len, const char *value,
			   size_t value_len)
{
	struct json_out *j = ctx;

	json_out__open(j, '{');
	put_json_text(j, "name", key, key_len);
	put_json_text(j, "value", value, value_len);
	json_out__close(j, '}');
}

/* Writes a WriteRawRequest as JSON. Return: 0, or -1 if memory runs out. */
static int write_raw(const struct receiver *r, const struct profile *p, FILE *f)
{
	char *raw = base64(p->data, p->bytes);
	struct json_out j = { 0 };

	if (!raw || json_out__init(&j, f, ESCAPE_JSON)) {
		free(raw);
		return -1;
	}
	json_out__open(&j, '{');
	json_out__key(&j, "series");
	json_out__open(&j, '[');
	json_out__open(&j, '{');
	json_out__key(&j, "labels");
	json_out__open(&j, '{');
	json_out__key(&j, "labels");
	json_out__open(&j, '[');
	put_json_label(&j, "__name__", 8, APPLICATION, strlen(APPLICATION));
	receiver__each_label(r, put_json_label, &j);
	json_out__close(&j, ']');
	json_out__close(&j, '}');
	json_out__key(&j, "samples");
	json_out__open(&j, '[');
	json_out__open(&j, '{');
	json_out__key(&j, "rawProfile");
	json_out__raw(&j, "\"", 1);
	json_out__raw(&j, raw, strlen(raw));
	json_out__raw(&j, "\"", 1);
	json_out__close(&j, '}');
	json_out__close(&j, ']');
	json_out__close(&j, '}');
	json_out__close(&j, ']');
	json_out__close(&j, '}');
	json_out__exit(&j);
	free(raw);
	return 0;
}

static int send_parca(struct receiver *r, const struct profile *p, long timeout_ms,
		      struct http_answer *a)
{
	struct http_request request = { .url = r->url.url, .type = "application/json" };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int err = f ? write_raw(r, p, f) : -1;

	if (f && fclose(f))
		err = -1;
	if (!err) {
		request.body = text;
		request.bytes = size;
		http__post(r->http, &request, timeout_ms, a);
	}
	free(text);
	return err;
}

/* ---- OpenTelemetry --------------------------------------------------------------------------- */

static int send_otlp(struct receiver *r, const struct profile *p, long timeout_ms,
		     struct http_answer *a)
{
	const struct http_request request = {
		.url = r->url.url, .type = "application/x-protobuf", .body = p->data,
		.bytes = p->bytes,
	};

	http__post(r->http, &request, timeout_ms, a);
	return 0;
}

/* Return: how many profiles the collector refused, although its status is 200. */
static int64_t nr_rejected(const struct http_answer *a, char *why)
{
	response_msg *m = RESPONSE(unpack)(NULL, a->bytes, a->body);
	int64_t nr = m && m->partial_success ? m->partial_success->rejected_profiles : 0;

	if (nr)
		snprintf(why, WHY_BYTES, "the collector rejected %" PRId64 " profiles: %.180s", nr,
			 m->partial_success->error_message);
	if (m)
		RESPONSE(free_unpacked)(m, NULL);
	return nr;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Prints the status and the answer's first line, with '?' for bytes that are not printable. */
static void tell_status(const struct http_answer *a, char *why)
{
	size_t i, at = snprintf(why, WHY_BYTES, "HTTP status %ld", a->status);

	if (a->bytes)
		at += snprintf(why + at, WHY_BYTES - at, ": ");
	for (i = 0; i < a->bytes && at < WHY_BYTES - 1 && a->body[i] != '\n' && i < 120; i++)
		why[at++] = a->body[i] >= ' ' && a->body[i] < 0x7f ? a->body[i] : '?';
	why[at] = '\0';
}

enum receiver_verdict receiver__send(struct receiver *r, const struct profile *p, long timeout_ms,
				     char *why)
{
	static int (*const send[NR_PUSH_KINDS])(struct receiver * r, const struct profile *p,
						long timeout_ms, struct http_answer *a) = {
		[PUSH_PYROSCOPE] = send_pyroscope,
		[PUSH_OTLP] = send_otlp,
		[PUSH_PARCA] = send_parca,
	};
	struct http_answer a = { 0 };

	if (send[r->url.kind](r, p, timeout_ms, &a)) {
		snprintf(why, WHY_BYTES, "out of memory");
		return RECEIVER_FAILED;
	}
	if (!a.status) {
		snprintf(why, WHY_BYTES, "%s", a.error);
		return RECEIVER_FAILED;
	}
	if (a.status >= 200 && a.status < 300)
		return r->url.kind == PUSH_OTLP && nr_rejected(&a, why) ?
		       RECEIVER_REFUSED : RECEIVER_TOOK;
	tell_status(&a, why);
	/* The receiver is overloaded or still starting. It may take the profile later. */
	if (a.status >= 500 || a.status == 429 || a.status == 408)
		return RECEIVER_FAILED;
	return RECEIVER_REFUSED;
}
