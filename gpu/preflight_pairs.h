/*
 * preflight_pairs.h - what was measured between each two devices or nodes, and who is to blame.
 */
#ifndef GPU_PREFLIGHT_PAIRS_H
#define GPU_PREFLIGHT_PAIRS_H

#include "gpu/preflight.h"

enum { PAIRS_MAX = 64 };

struct pairs {
	struct preflight *p;
	const char *check;
	uint32_t n;
	void *ctx;                /* the caller's */
	const char *const *names; /* of nodes; NULL: they are this node's devices */
	struct pair {
		int64_t rate;
		bool failed; /* an error, or wrong sums */
		bool late;   /* by a deadline: another's error may be the cause */
		char why[400];
	} pair[PAIRS_MAX][PAIRS_MAX]; /* [a][b] with a < b */
};

/* The caller frees it. */
struct pairs *pairs_new(struct preflight *p, const char *check, uint32_t n);

/*
 * What else runs on the machine makes a link slow now and then, a bad link is slow each
 * time: measure the slow ones up to twice more; the best counts.
 */
void pairs_measure_again(struct pairs *t,
			 void (*measure)(struct pairs *t, uint32_t a, uint32_t b));

/*
 * Is a ring's rate that of a slow link or participant? Measures two pairs that share none:
 * a ring is as slow as its slowest link. false of fewer than three.
 */
bool pairs_are_faster(struct pairs *t, int64_t rate,
		      void (*measure)(struct pairs *t, uint32_t a, uint32_t b));

/*
 * Names those that are bad with each other one, and links that are bad besides: at less
 * than half of the usual rate, or, where any failed, those that failed. Returns how many
 * rows that took; `bad` (PAIRS_MAX of them, or NULL) are those that are to blame themselves.
 */
size_t pairs_blame(struct pairs *t, bool *bad);

/* Three quarters are no faster: of three nodes, one that is slow makes two pairs slow. */
int64_t pairs_usual(const struct pairs *t);

#endif
