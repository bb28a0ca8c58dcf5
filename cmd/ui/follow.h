/*
 * follow.h - `submit --follow` and `--wait`: follow a job of a cluster until it ends.
 */
#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include "kube/kube.h"

struct submit_follow {
	const char *ns, *name;
	bool show;          /* show its progress and output */
	bool quiet;         /* show only its output and failures */
	int64_t start_ms;   /* its creation, by clock_ms() */
	int64_t timeout_ms; /* 0: none */
};

/*
 * Returns the exit code: the job's (0, or the first failed process's), EXIT_TIMED_OUT
 * after the timeout, 128 + N after signal N. -1 with err.
 */
int submit_follow(struct kube *k, const struct submit_follow *how, struct error *err);

#endif
