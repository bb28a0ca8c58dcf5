/*
 * follow.h - `submit --follow` and `--wait`: until a job of a cluster has ended.
 */
#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include "kube/kube.h"

struct submit_follow {
	const char *ns, *name;
	bool show;          /* what it does meanwhile */
	bool quiet;         /* but for its own output, and what went wrong */
	int64_t start_ms;   /* when it was created; clock_ms() */
	int64_t timeout_ms; /* 0: none */
};

/*
 * The exit code: the job's (0, or that of the process that failed first), 124 when the
 * time was over, 128 + N after a signal. -1 with err.
 */
int submit_follow(struct kube *k, const struct submit_follow *how, struct error *err);

#endif
