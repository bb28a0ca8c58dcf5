/*
 * series.h - the points of a job's metrics, for plots: of each metric (and of the progress
 * in percent, whose name is "") at most SERIES_POINTS. When they are as many, of each four
 * the smallest and the largest are kept, so that no peak is lost. Pure.
 */
#ifndef UI_SERIES_H
#define UI_SERIES_H

#include "base/buf.h"
#include "base/json.h"

enum { SERIES_POINTS = 4096, SERIES_METRICS = 64 };

struct series_point {
	int64_t ms;         /* since 1970; more than that of the point before */
	double step, value; /* NaN: not reported, or not finite */
	uint64_t version;
};
struct series {
	char *name;
	struct series_point *points;
	size_t n, cap;
	uint64_t thinned; /* the version by which points were dropped; 0: none */
	struct series *next;
};
/* Begins as { 0 }; ends with series_release(). */
struct series_set {
	struct series *first;
	size_t n, bytes;
	uint64_t seen; /* the hash of the last report; 0: none */
};

/*
 * Add a point of each metric that the TrainJob reports, unless it is the report of the
 * last call. Its time is the report's own, if it has one, within that second `now_ms`.
 * `more` false: only points for which there is room. True: there was a new report.
 */
bool series_add(struct series_set *set, const cJSON *job, int64_t now_ms,
		uint64_t version, bool more);
/*
 * The points before `ms` become those of `earlier`, of each metric that it has. All points of
 * these are printed again.
 */
void series_join(struct series_set *set, const struct series_set *earlier, int64_t ms,
		 uint64_t version);
void series_thin(struct series_set *set, uint64_t version);
void series_release(struct series_set *set);

/*
 * Append '"loss",true,[[ms,step,value],...]' if the i-th metric has points newer than the
 * version `seen`: those up to the version `upto`; after `true`, in place of all that are
 * known of it. What is NaN is null.
 */
void series_print(struct buf *out, const struct series_set *set, size_t i, uint64_t seen,
		  uint64_t upto);

#endif
