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
	/* The object is deleted: delete the dependents that have no other owner. */
	GC_DEPENDENTS = 1,
	/* The object is removed: remove owners and a namespace that waited for that. */
	GC_OWNERS = 2,
	/* The object is deleted, but has finalizers: orphan its dependents, or wait for them. */
	GC_FINALIZERS = 4,
	/* The object or its owners are new: delete it if its owners or namespace are gone. */
	GC_ORPHANS = 8,
};
/* metav1.FinalizerDeleteDependents, FinalizerOrphanDependents */
#define FOREGROUND_FINALIZER "foregroundDeletion"
#define ORPHAN_FINALIZER     "orphan"

/* Does the object have a deletionTimestamp and no finalizer? */
bool gc_is_finished(const cJSON *obj);
/* Run these steps (GC_...) and all that follow; within a collection, queue them. */
void gc_collect(struct exchange *x, const cJSON *obj, unsigned what);
/* Remove the namespace if it is terminating, without finalizers, and empty. */
void gc_namespace_end(struct apiserver *s, const char *name);
/*
 * At the start, for collections that a killed server did not finish: delete the objects
 * whose owners do not exist, and the contents of terminating namespaces.
 */
void gc_resume(struct apiserver *s);

#endif
