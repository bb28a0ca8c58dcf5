/*
 * permission.h - RBAC refusals of the API server, explained to the user.
 *
 * The message of a 403: User "jane" cannot get resource "pods/log" in API group "" in the
 * namespace "x". permission_read() parses it.
 */
#ifndef KUBE_PERMISSION_H
#define KUBE_PERMISSION_H

#include <stdbool.h>

#include "base/arena.h"

/* Strings are in the arena of permission_read(). */
struct permission {
	const char *user, *verb;
	const char *resource;    /* "pods" */
	const char *subresource; /* "log", or NULL */
	const char *group;       /* "" for the core group */
	const char *ns;          /* NULL: cluster-wide */
};

/* Parse a message. False: it is no such refusal; *ret is untouched. */
bool permission_read(struct arena *arena, const char *text, struct permission *ret);

/* "get pods/log in namespace x"; "list nodes". In the arena. */
const char *permission_what(struct arena *arena, const struct permission *p);

/* "kubectl auth can-i get pods --subresource=log -n x". In the arena. */
const char *permission_check(struct arena *arena, const struct permission *p);

/*
 * Replace the message of such a refusal by one line: who may not do what, how to check,
 * whom to ask. Other errors are not changed. Returns -1, for the caller to return.
 */
int permission_explain(struct error *err);

#endif
