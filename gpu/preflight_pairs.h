/*
 * preflight_pairs.h - measure pairs of devices or nodes, and find the bad ones.
 */
#ifndef GPU_PREFLIGHT_PAIRS_H
#define GPU_PREFLIGHT_PAIRS_H

#include "gpu/preflight.h"

enum { PAIRS_MAX = 64 };

struct pairs {
	struct preflight *p;
	const char *check;
	uint32_t n;
	void *ctx;                /* for measure(), not used here */
	const char *const *names; /* names of nodes; NULL: pairs of this node's devices */
	struct pair {
		int64_t rate;
		bool failed;    /* an error, or wrong sums */
		bool timed_out; /* another pair's error may be the cause */
		char why[400];
	} pair[PAIRS_MAX][PAIRS_MAX]; /* [a][b] with a < b */
};

/* The caller frees the result, with free(). */
struct pairs *pairs_new(struct preflight *p, const char *check, uint32_t n);

/*
 * Measures slow pairs up to twice more; the best rate counts: other load makes a link
 * slow at times, a bad link is always slow.
 */
void pairs_measure_again(struct pairs *t,
			 void (*measure)(struct pairs *t, uint32_t a, uint32_t b));

/*
 * Is a ring slow because of one link or member? A ring is as slow as its slowest link;
 * two disjoint pairs are measured for comparison. False for fewer than three members.
 */
bool pairs_are_faster(struct pairs *t, int64_t rate,
		      void (*measure)(struct pairs *t, uint32_t a, uint32_t b));

/*
 * Reports devices or nodes that are bad with every other one, and then the other bad
 * links. Bad: failed, or, if none failed, less than half of the usual rate. Returns the
 * number of rows; sets bad[i] (PAIRS_MAX elements, or NULL) for the reported devices or
 * nodes.
 */
size_t pairs_report(struct pairs *t, bool *bad);

/* The upper quartile of the rates, since one slow node of three makes two pairs slow. */
int64_t pairs_usual(const struct pairs *t);

#endif
