/*
 * gc.h - what is to be done about objects that belong to an object, or to which it
 * belongs, when it is stored or removed. Private to core/apiserver.
 *
 * A request that is part of such work leaves what follows of it to whoever began, so that
 * no chain of owners, however long, is recursion.
 */
#ifndef APISERVER_GC_H
#define APISERVER_GC_H

#include "apiserver/exchange.h"

enum gc_step {
	GC_DEPENDENTS = 1, /* it is gone or going: what belongs to it goes as well */
	/* It is gone: those that wait for that go, owners (foreground) and its namespace. */
	GC_OWNERS = 2,
	GC_FOREGROUND = 4, /* it goes when nothing belongs to it any more */
	GC_ORPHANS = 8,    /* it is new: without any of its owners it goes at once */
};
#define FOREGROUND_FINALIZER "foregroundDeletion" /* the finalizer of one that waits */

/* Deleted, and no finalizer is left. */
bool gc_is_finished(const cJSON *obj);
void gc_collect(struct exchange *x, const cJSON *obj, unsigned what);
/* What belongs to it stays without it. */
void gc_release(struct apiserver *s, const cJSON *owner);
/* An object of it is gone: a terminating namespace goes with its last. */
void gc_namespace_end(struct apiserver *s, const char *name);
/* What the last server of the log did not come to do before it was killed. */
void gc_resume(struct apiserver *s);

#endif
