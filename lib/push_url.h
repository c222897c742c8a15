/* SPDX-License-Identifier: MIT */
/* push_url.h - where profiles are sent, and how */
#ifndef LIB_PUSH_URL_H
#define LIB_PUSH_URL_H

enum push_kind {
	PUSH_PYROSCOPE,
	PUSH_OTLP,
	PUSH_PARCA,
	NR_PUSH_KINDS,
};

#define PUSH_URL_MAX	2048

struct push_url {
	enum push_kind kind;
	char url[PUSH_URL_MAX];		/* begins with http(s)://, ends with the kind's path */
};

/**
 * push_url__parse - find out which kind of receiver a URL means
 * @text: "pyroscope+http://host:4040", "otlp+https://host:4318" or "parca+http://host:7070", to
 *	which the kind's path is added; or a whole URL that already ends with a kind's path
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *push_url__parse(struct push_url *u, const char *text);

#define PUSH_TOKEN_MAX	4000

/*
 * Return: NULL, or what is wrong with @token, which is to become a header of a request. @token:
 * NULL if there is no token.
 */
const char *push_token__check(const char *token);

#endif /* LIB_PUSH_URL_H */
