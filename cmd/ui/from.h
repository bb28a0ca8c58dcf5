/*
 * from.h - the option --from of commands about jobs: run directories in place of a cluster
 * (history/history.h).
 */
#ifndef CMD_FROM_H
#define CMD_FROM_H

#include "cmd/ui/cluster.h"
#include "history/history.h"

#define FROM_OPTION(s)                                                                   \
	OPT_STR(0, "from", "URI",                                                        \
		"read a run directory (submit --run-dir): s3://BUCKET/RUN, file:///DIR", \
		s, from)

/* A run directory to read, or a folder of several. */
struct from {
	const char *uri;  /* NULL: nothing is changed */
	bool logs;        /* the output of the nodes, too */
	bool follow;      /* refused: nothing new comes */
	const char *pick; /* an option that chooses among the jobs of a place: refused */
	bool all;         /* of a folder of several, all; *names stays as it is */
	void (*on_fault)(const char *uri, const char *why); /* as history_conf's */
};

/*
 * With a URI, make `where` this machine with the jobs of those runs alone, and *names the
 * only one unless there are names. Keep *ret until the command ends. 1: a log is damaged,
 * *err says which; what is left of it and all others are there.
 */
MUST_CHECK int from_open(struct history **ret, const struct from *from,
			 struct where_opts *where, int *names_n, char ***names,
			 struct error *err);

#endif
