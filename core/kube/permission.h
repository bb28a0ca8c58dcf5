/*
 * permission.h - what a person may not do in a cluster, in words that help.
 *
 * The API server says of a refusal (403): User "jane" cannot get resource "pods/log"
 * in API group "" in the namespace "x". permission_read() takes that apart.
 */
#ifndef KUBE_PERMISSION_H
#define KUBE_PERMISSION_H

#include <stdbool.h>

#include "base/arena.h"

/* Strings live in the arena of the call. */
struct permission {
	const char *user, *verb;
	const char *resource;    /* "pods" */
	const char *subresource; /* "log", or NULL */
	const char *group;       /* "" for the core group */
	const char *ns;          /* NULL: cluster-wide */
};

/* false: the text is no such refusal. */
bool permission_read(struct arena *arena, const char *text, struct permission *ret);

/* "get pods/log in namespace x"; "list nodes". In the arena. */
const char *permission_what(struct arena *arena, const struct permission *p);

/* "kubectl auth can-i get pods --subresource=log -n x". In the arena. */
const char *permission_check(struct arena *arena, const struct permission *p);

/*
 * A refusal as one line: who may not do what, how to check, whom to ask. Every other
 * error stays as it is. Returns -1, so that it may end a function.
 */
int permission_explain(struct error *err);

#endif
