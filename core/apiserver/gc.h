/*
 * gc.h - garbage collection of owned objects, and of the contents of namespaces, as
 * kube-controller-manager does it. Private to core/apiserver.
 *
 * Runs within the request that stores or deletes an object. The requests of a collection
 * only queue their steps (exchange.gc), so a chain of owners of any length needs no
 * recursion. Errors, such as conflicts with other requests, are ignored.
 */
#ifndef APISERVER_GC_H
#define APISERVER_GC_H

#include "apiserver/exchange.h"

enum gc_step {
	GC_DEPENDENTS = 1, /* delete the dependents without another existing owner */
	/* The object is removed: end owners in foreground deletion, and its namespace. */
	GC_OWNERS = 2,
	GC_FOREGROUND = 4, /* remove foregroundDeletion if no dependent exists */
	GC_ORPHANS = 8,    /* the object is new: delete it if none of its owners exists */
};
#define FOREGROUND_FINALIZER "foregroundDeletion" /* metav1.FinalizerDeleteDependents */

/* Does the object have a deletionTimestamp and no finalizer? */
bool gc_is_finished(const cJSON *obj);
/* Run these steps (GC_...) and all that follow; within a collection, queue them. */
void gc_collect(struct exchange *x, const cJSON *obj, unsigned what);
/* Orphan the dependents: remove their references to this owner. */
void gc_orphan_dependents(struct apiserver *s, const cJSON *owner);
/* Remove the namespace if it is terminating, without finalizers, and empty. */
void gc_namespace_end(struct apiserver *s, const char *name);
/*
 * At the start, for collections that a killed server did not finish: delete the objects
 * whose owners do not exist, and the contents of terminating namespaces.
 */
void gc_resume(struct apiserver *s);

#endif
