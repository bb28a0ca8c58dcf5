/* range_impl.h - declarations shared by range.c and range_piece.c. */
#ifndef STORE_RANGE_IMPL_H
#define STORE_RANGE_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "store/range.h"
#include "store/reply.h"

struct range_object {
	struct range_conf conf;
	struct arena arena;
	struct store_object o; /* its size is -1 until a response has it */
	const char *name;
	struct stat st; /* of a local file, when it was opened */

	pthread_mutex_t lock; /* guards what follows, and the arena */
	const char *etag;
	const char *redirected_to;
	bool redirected_same_origin;
	int refused;          /* the status that refused the credentials; 0: none */
	int64_t now, changed; /* range_times() */
};

/* A range to request, and how much of it has arrived. */
struct range_piece {
	struct range_object *object;
	uint64_t offset, len, done;
	uint8_t *to;        /* NULL: only the object's size is wanted */
	const bool *cancel; /* another piece failed */
	struct reply reply;
	bool checked;
	struct arena arena;
};

/* Read the whole piece, with retries; releases its arena. */
MUST_CHECK int range_piece_run(struct range_piece *p, struct error *err);

#endif
