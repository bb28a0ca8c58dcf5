/*
 * entries.h - the entries of KFTRAINER_CHECKPOINT_DIR and their changes.
 *
 * Reads names, sizes and times, no contents. Used by the uploader's thread only
 * (runs/uploader.c). runs/detect.h decides which entries are finished checkpoints.
 */
#ifndef RUNS_ENTRIES_H
#define RUNS_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runs/detect.h"
#include "runs/resume.h"

struct runs;

enum { UNCHANGED_MS = 2000 }; /* an entry that has not changed for so long is whole */

struct entry {
	char name[256];
	uint64_t fingerprint;     /* of the last scan */
	uint32_t attempt;         /* the last one that changed it */
	int64_t changed;          /* clock_ms() of the scan that found the last change */
	int64_t changed_us;       /* its time, in us since 1970; 0: not set yet */
	int64_t newest, finished; /* as in struct detected */
	int64_t files;            /* number of files */
	uint64_t
		renamed; /* the number of the rename to this name; 0: none was reported */
	bool unchanged;  /* since the last scan, or renamed to this name since then */
	bool excluded; /* not uploaded: older than the first attempt, fetched, or partial */
	bool seen;     /* by this scan */
	bool uploaded; /* or an upload was tried and must not be repeated */
	bool stored; /* uploaded, and on rank 0 complete: later removals do not matter */
	bool shrunk; /* since it was whole only files were removed: a removal may go on */
	bool partial; /* shrunk, or marked as incomplete by its library */
	bool single;  /* a file, not a directory */
	bool removed; /* a rank but 0: the directory was removed before its upload */
	bool suspect; /* a rank but 0: the command failed while it may have been partial */
};

struct entries {
	struct runs *r;
	struct entry *list; /* at most RUNS_ENTRIES; further entries are ignored */
	size_t n;
	struct resumed resumed;
	int dir, notify;         /* descriptors; -1: none */
	int64_t newest;          /* the latest changed_us */
	uint64_t renames;        /* reported so far */
	uint64_t renames_before; /* reported before the last scan */
	/* linkcopy.h's directory; its name has the job and rank: volumes may be shared. */
	char copy[300];
};

/* The result is never freed: it lives as long as the process. */
void entries_open(struct entries *ret, struct runs *r);
void entries_scan(struct entries *all);
/*
 * Exclude what the command may have left partial. `failed`: it has, and `attempt` is the
 * current one; failed_at: clock_ms() of its last failure, 0: none. On ranks but 0 a
 * directory that had not changed for UNCHANGED_MS is taken as whole.
 */
void entries_exclude_partial(struct entries *all, uint32_t attempt, bool failed,
			     int64_t failed_at);
/* Since the last scan, were files of the entry only removed, and none written? */
bool entry_has_shrunk(const struct entry *e, const struct detected *now);
/* Was an entry renamed since the last scan? */
bool entries_rename_pending(const struct entries *all);

#endif
