/* SPDX-License-Identifier: MIT */
/* http.h - sends a request and reads the answer, by libcurl, which is loaded at run time */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_ANSWER_MAX	4096		/* bytes of an answer that are read */

struct http;

/* A part of a form. */
struct http_part {
	const char *name, *file, *type;
	const void *data;
	size_t bytes;
};

struct http_request {
	const char *url;
	const char *type;		/* of the body; NULL: a form */
	const void *body;
	size_t bytes;
	const struct http_part *parts;
	size_t nr_parts;
};

struct http_answer {
	long status;			/* 0: there was no answer */
	size_t bytes;
	uint8_t body[HTTP_ANSWER_MAX];	/* the first bytes of it */
	char error[256];		/* why there was no answer */
};

/*
 * Return: NULL without libcurl or memory, with *@why set. @token: for Authorization: Bearer, checked;
 * or NULL
 */
struct http *http__open(const char *token, const char **why);
void http__close(struct http *h);

/* Asks @gives_up each second while a request is under way; if it says so, the request has timed out. */
void http__ask(struct http *h, bool (*gives_up)(void *ctx), void *ctx);

/* Sends a request; a receiver that does not answer within @timeout_ms has not answered. */
void http__post(struct http *h, const struct http_request *r, long timeout_ms, struct http_answer *a);

/* Return: @text with what a query may not have as %XX, to be freed; NULL without memory. */
char *http__escape(struct http *h, const char *text);

#endif /* PUSH_HTTP_H */
