/*
 * from.h - the option --from of commands about one job: a run directory in place of a
 * cluster (story/story.h).
 */
#ifndef CMD_FROM_H
#define CMD_FROM_H

#include "cmd/ui/cluster.h"
#include "story/story.h"

#define FROM_OPTION(s)                                                                   \
	OPT_STR(0, "from", "URI",                                                        \
		"read a run directory (submit --run-dir): s3://BUCKET/RUN, file:///DIR", \
		s, from)

/* A run directory to read. */
struct from {
	const char *uri; /* NULL: nothing is changed */
	bool logs;       /* the output of the nodes, too */
	bool follow;     /* refused: nothing new comes */
};

/*
 * With a URI, make `where` this machine with that run's job alone, and *names that job
 * unless there is one. Keep *ret until the command ends.
 */
MUST_CHECK int from_open(struct story **ret, const struct from *from,
			 struct where_opts *where, int *names_n, char ***names,
			 struct error *err);

#endif
