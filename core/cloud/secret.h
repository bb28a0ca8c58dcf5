/*
 * secret.h - read a token from a file or a variable: one word that fits a header.
 *
 * White space around it is dropped. An empty token is an error: an empty file must not
 * mean another identity, or none.
 */
#ifndef CLOUD_SECRET_H
#define CLOUD_SECRET_H

#include "base/arena.h"
#include "base/error.h"

/* `from` is for messages: "HF_TOKEN". ERR_INVALID: empty, too long, not one word. */
MUST_CHECK int secret_take(const char **ret, struct arena *arena, const char *text,
			   const char *from, struct error *err);
/* The same for the contents of a file. */
MUST_CHECK int secret_read(const char **ret, struct arena *arena, const char *path,
			   const char *from, struct error *err);

#endif
