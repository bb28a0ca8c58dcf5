/*
 * envfile.h - files of environment variables (KEP-3721, Kubernetes 1.34).
 *
 * Lines NAME=VALUE; blank lines and lines that begin with # are ignored. VALUE is between
 * single quotes (literal, may span lines), between double quotes (with \\ \" \$ \`
 * escaped) or plain to the end of the line, without the white space around it. No
 * expansion.
 */
#ifndef KUBELET_ENVFILE_H
#define KUBELET_ENVFILE_H

#include "base/arena.h"

/*
 * The value of `key` (the last one counts), *ret is NULL if the key is absent.
 * ERR_FORMAT as "line N: what" when the file does not parse.
 */
MUST_CHECK int envfile_get(struct arena *arena, const char *text, const char *key,
			   const char **ret, struct error *err);

#endif
