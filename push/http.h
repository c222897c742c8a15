/* SPDX-License-Identifier: MIT */
/* http.h - sends a request and reads the answer with libcurl, which is loaded at run time */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_ANSWER_MAX	4096		/* maximum number of bytes that are read from an answer */

struct http;

/* One part of a multipart form. */
struct http_part {
	const char *name, *file, *type;
	const void *data;
	size_t bytes;
};

struct http_request {
	const char *url;
	const char *type;		/* the type of the body; NULL: send the parts as a form */
	const void *body;
	size_t bytes;
	const struct http_part *parts;
	size_t nr_parts;
};

struct http_answer {
	long status;			/* the HTTP status; 0 if there was no answer */
	size_t bytes;
	uint8_t body[HTTP_ANSWER_MAX];	/* the beginning of the answer */
	char error[256];		/* why there was no answer */
};

/*
 * Prepares for requests. Return: NULL without libcurl or memory, with the reason in *@why.
 * @token: a checked token for "Authorization: Bearer", or NULL.
 */
struct http *http__open(const char *token, const char **why);
void http__close(struct http *h);

/*
 * Makes each request call @gives_up once a second. If @gives_up returns true, the request ends as
 * if it had timed out.
 */
void http__ask(struct http *h, bool (*gives_up)(void *ctx), void *ctx);

/* Sends a request, and waits @timeout_ms at most for the answer. */
void http__post(struct http *h, const struct http_request *r, long timeout_ms,
		struct http_answer *a);

/* Return: a copy of @text for a query, escaped with %XX, to be freed; NULL if memory runs out. */
char *http__escape(struct http *h, const char *text);

#endif /* PUSH_HTTP_H */
