/*
 * answers.h - the answers of head and worker: functions of a request's message, without
 * I/O. Messages are those of Flight.proto; errors are messages for the caller.
 */
#ifndef CACHE_ANSWERS_H
#define CACHE_ANSWERS_H

#include "cache/claim.h"
#include "cache/fleet.h"
#include "cache/holdings.h"
#include "cache/serve_impl.h"

struct head {
	const struct table *table;
	struct ipc_form form;
	const char *scheme; /* of its workers */
	struct fleet *fleet;
};

/*
 * Append the FlightInfo for a FlightDescriptor. ERR_BUSY: rows cannot be read now. Else
 * plan_read()'s errors, and ERR_FORMAT.
 */
MUST_CHECK int head_info(const struct head *h, struct iovec message, struct buf *info,
			 struct error *err);

struct worker {
	struct holdings *holdings;
	struct claim *claim;
};

/*
 * An Action, of a caller with this claim (claim.h; NULL: none). *ret: the worker's state.
 * ERR_INVALID; ERR_DENIED; ERR_UNSUPPORTED: there is no such action.
 */
MUST_CHECK int worker_action(struct worker *w, struct iovec message, const char *claim,
			     cJSON **ret, struct error *err);

/* Begin to read a Ticket's rows (memtable_read()). holdings_read()'s errors. */
MUST_CHECK int worker_read(struct worker *w, struct iovec message, enum ipc_codec codec,
			   void **ret, struct error *err);

#endif
