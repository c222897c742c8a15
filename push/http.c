// SPDX-License-Identifier: MIT
#include "http.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "push_url.h"
#include "version.h"

/*
 * curl's headers define these names as macros that call the functions; here they name pointers to
 * functions that are loaded at run time.
 */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define CONNECT_MS	5000L
/*
 * CURLOPT_PROTOCOLS: newer headers call it deprecated, but libcurl before 7.85 does not have its
 * replacement.
 */
#define PROTOCOLS	((CURLoption)181)

struct http {
	void *library;
	CURL *curl;
	struct curl_slist *headers;
	bool (*gives_up)(void *ctx);
	void *ctx;
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *curl);
	void (*easy_reset)(CURL *curl);
	CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
	CURLcode (*easy_perform)(CURL *curl);
	const char *(*easy_strerror)(CURLcode code);
	char *(*easy_escape)(CURL *curl, const char *text, int len);
	void (*free)(void *p);
	curl_mime *(*mime_init)(CURL *curl);
	void (*mime_free)(curl_mime *mime);
	curl_mimepart *(*mime_addpart)(curl_mime *mime);
	CURLcode (*mime_name)(curl_mimepart *part, const char *name);
	CURLcode (*mime_filename)(curl_mimepart *part, const char *name);
	CURLcode (*mime_type)(curl_mimepart *part, const char *type);
	CURLcode (*mime_data)(curl_mimepart *part, const char *data, size_t bytes);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* Return: whether libcurl was loaded and has all functions. */
static bool http__load(struct http *h)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "curl_easy_init", &h->easy_init }, { "curl_easy_cleanup", &h->easy_cleanup },
		{ "curl_easy_reset", &h->easy_reset }, { "curl_easy_setopt", &h->easy_setopt },
		{ "curl_easy_getinfo", &h->easy_getinfo },
		{ "curl_easy_perform", &h->easy_perform },
		{ "curl_easy_strerror", &h->easy_strerror },
		{ "curl_easy_escape", &h->easy_escape }, { "curl_free", &h->free },
		{ "curl_mime_init", &h->mime_init }, { "curl_mime_free", &h->mime_free },
		{ "curl_mime_addpart", &h->mime_addpart }, { "curl_mime_name", &h->mime_name },
		{ "curl_mime_filename", &h->mime_filename }, { "curl_mime_type", &h->mime_type },
		{ "curl_mime_data", &h->mime_data }, { "curl_slist_append", &h->slist_append },
		{ "curl_slist_free_all", &h->slist_free_all },
	};
	void *function;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !h->library; i++)
		h->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]) && h->library; i++) {
		function = dlsym(h->library, functions[i].name);
		if (!function)
			return false;
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return h->library;
}

struct http *http__open(const char *token, const char **why)
{
	struct http *h = calloc(1, sizeof(*h));
	char line[PUSH_TOKEN_MAX + 32];

	*why = "out of memory";
	if (!h)
		return NULL;
	if (!http__load(h)) {
		*why = "libcurl.so.4 is missing: install libcurl4 (version 7.56 or later)";
		free(h);
		return NULL;
	}
	h->curl = h->easy_init();
	/*
	 * An empty "Expect" keeps libcurl from asking the server before it sends a long body; many
	 * servers never answer that question.
	 */
	h->headers = h->slist_append(NULL, "Expect:");
	if (token && *token) {
		snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
		h->headers = h->slist_append(h->headers, line);
	}
	if (h->curl && h->headers)
		return h;
	http__close(h);
	return NULL;
}

void http__close(struct http *h)
{
	if (!h)
		return;
	h->slist_free_all(h->headers);
	if (h->curl)
		h->easy_cleanup(h->curl);
	free(h);
}

char *http__escape(struct http *h, const char *text)
{
	char *escaped = h->easy_escape(h->curl, text, 0), *copy = escaped ? strdup(escaped) : NULL;

	h->free(escaped);
	return copy;
}

/*
 * Takes a part of the answer. Fails when the buffer is full, so that the remaining answer is not
 * read.
 */
static size_t on_body(char *data, size_t size, size_t nr, void *ctx)
{
	struct http_answer *a = ctx;
	size_t room = sizeof(a->body) - a->bytes, part = size * nr < room ? size * nr : room;

	memcpy(a->body + a->bytes, data, part);
	a->bytes += part;
	return part;
}

void http__ask(struct http *h, bool (*gives_up)(void *ctx), void *ctx)
{
	h->gives_up = gives_up;
	h->ctx = ctx;
}

static int on_progress(void *ctx, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
		       curl_off_t sent)
{
	const struct http *h = ctx;

	(void)to_get, (void)got, (void)to_send, (void)sent;
	return h->gives_up && h->gives_up(h->ctx);
}

static curl_mime *http__form(struct http *h, const struct http_request *r)
{
	curl_mime *form = h->mime_init(h->curl);
	curl_mimepart *part;
	size_t i;

	for (i = 0; form && i < r->nr_parts; i++) {
		part = h->mime_addpart(form);
		if (!part || h->mime_name(part, r->parts[i].name) ||
		    h->mime_filename(part, r->parts[i].file) ||
		    h->mime_type(part, r->parts[i].type) ||
		    h->mime_data(part, r->parts[i].data, r->parts[i].bytes)) {
			h->mime_free(form);
			return NULL;
		}
	}
	return form;
}

void http__post(struct http *h, const struct http_request *r, long timeout_ms,
		struct http_answer *a)
{
	struct curl_slist *headers = h->headers, *last, typed = { 0 };
	curl_mime *form = NULL;
	char type[128];
	CURLcode code;

	memset(a, 0, sizeof(*a));
	h->easy_reset(h->curl);
	h->easy_setopt(h->curl, CURLOPT_URL, r->url);
	h->easy_setopt(h->curl, CURLOPT_USERAGENT, "xpuload/" XPU_VERSION);
	h->easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
	h->easy_setopt(h->curl, PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	h->easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	h->easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, timeout_ms);
	h->easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
	h->easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	h->easy_setopt(h->curl, CURLOPT_XFERINFODATA, h);
	h->easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, on_body);
	h->easy_setopt(h->curl, CURLOPT_WRITEDATA, a);
	if (r->type) {
		snprintf(type, sizeof(type), "Content-Type: %s", r->type);
		typed.data = type;
		for (last = headers; last->next; last = last->next)
			;
		last->next = &typed;
		h->easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE, (long)r->bytes);
		h->easy_setopt(h->curl, CURLOPT_POSTFIELDS, r->body);
	} else {
		form = http__form(h, r);
		h->easy_setopt(h->curl, CURLOPT_MIMEPOST, form);
	}
	h->easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
	code = !r->type && !form ? CURLE_OUT_OF_MEMORY : h->easy_perform(h->curl);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		code = CURLE_OPERATION_TIMEDOUT;
	/* An answer that only exceeded the buffer has a status, too. */
	if (!code || (code == CURLE_WRITE_ERROR && a->bytes == sizeof(a->body)))
		h->easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &a->status);
	else
		snprintf(a->error, sizeof(a->error), "%s", h->easy_strerror(code));
	if (r->type) {
		for (last = headers; last->next != &typed; last = last->next)
			;
		last->next = NULL;
	}
	h->mime_free(form);
}
