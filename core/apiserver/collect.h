/*
 * collect.h - what is to be done about objects that belong to an object, or to which it
 * belongs, when it is stored or removed. Private to core/apiserver.
 *
 * A request that is part of such work leaves what follows of it to whoever began, so that
 * no chain of owners, however long, is recursion.
 */
#ifndef APISERVER_COLLECT_H
#define APISERVER_COLLECT_H

#include "apiserver/exchange.h"

enum collect {
	COLLECT_DEPENDENTS = 1, /* it is gone or going: what belongs to it goes as well */
	COLLECT_OWNERS = 2,     /* it is gone: those that wait for that (foreground) go */
	COLLECT_WAITING = 4,    /* it goes when nothing belongs to it any more */
	COLLECT_ORPHAN = 8,     /* it is new: without any of its owners it goes at once */
};
#define FOREGROUND "foregroundDeletion" /* the finalizer of one that waits */

void collect(struct exchange *x, const cJSON *obj, unsigned what);
/* What belongs to it stays without it. */
void collect_release(struct apiserver *s, const cJSON *owner);
/* Those of owners that were deleted just before the last server of the log was killed. */
void collect_leftovers(struct apiserver *s);

#endif
