/*
 * entries.h - what is in KFTRAINER_CHECKPOINT_DIR, and since when.
 *
 * Of one thread, that of checkpoints (runs/keep.c). Nothing is read but names, sizes and
 * times; which entries are finished checkpoints is that of runs/recognize.h.
 */
#ifndef RUNS_ENTRIES_H
#define RUNS_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runs/recognize.h"
#include "runs/resume.h"

struct runs;

struct entry {
	char name[256];
	uint64_t stamp;
	uint32_t attempt;            /* in which it changed */
	int64_t changed, changed_us; /* by clock_ms(); us since 1970, 0: it has none */
	int64_t newest, finished;    /* of its files, by the file system (recognize.h) */
	int64_t files;               /* how many */
	uint64_t renamed;            /* as the nth; 0: it was not seen */
	bool quiet; /* since the last scan, or renamed into place since then */
	bool old;   /* from before the first attempt, or fetched, or torn: not sent */
	bool seen, sent;
	bool kept; /* sent, and of rank 0 complete: what is removed of it changes nothing */
	bool shrunk; /* files were only removed since it was whole: it may be half removed */
	bool half;   /* that, or half written */
	bool single; /* a file */
	bool gone;   /* a directory of another rank than the first, before it was sent */
	bool torn;   /* of another rank than the first: perhaps */
};

struct entries {
	struct runs *r;
	struct entry *list; /* RUNS_ENTRIES at most; further ones are not there */
	size_t n;
	struct resumed resumed;
	int dir, notify;         /* -1: there is none */
	int64_t newest;          /* changed_us of all */
	uint64_t renames, heard; /* until now; until the scan before */
	/* The directory of runs/held.h, of this rank alone: several may share theirs. */
	char held[300];
};

/* Never closed: it lives as long as the process. */
void entries_open(struct entries *ret, struct runs *r);
void entries_scan(struct entries *all);
/* Were files of it removed, and none written, since it was as in the last scan? */
bool entries_is_less(const struct entry *e, const struct recognized *now);
/* Has an entry been renamed into place since the last scan? */
bool entries_heard(const struct entries *all);

#endif
