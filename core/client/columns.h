/*
 * columns.h - the columns in which TrainJobs are listed: by `get`, and by the page.
 */
#ifndef CLIENT_COLUMNS_H
#define CLIENT_COLUMNS_H

#include "base/arena.h"
#include "base/map.h"
#include "kube/kube.h"

/* Begins with `kube` and an empty map; ends with map_release(runtimes, free). */
struct columns {
	struct kube *kube;
	struct map runtimes; /* the cache of job_nodes() */
};

/* When a column is shown: always, in lists of all namespaces, in wide lists. */
enum { COLUMN_ALWAYS = 1, COLUMN_OF_ALL = 2, COLUMN_WIDE = 4 };
struct column {
	const char *head; /* "NAME" */
	const char *(*cell)(struct arena *arena, struct columns *c, const cJSON *job);
	int when;
};
enum { N_COLUMNS = 15 };
extern const struct column columns[N_COLUMNS];

/* The text of column i; "": unknown. In the arena, or the job's. */
const char *column_text(struct arena *arena, struct columns *c, size_t i,
			const cJSON *job);

#endif
