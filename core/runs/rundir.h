/*
 * rundir.h - read and write a run directory (docs/runs.md), whatever its URI's scheme.
 *
 * Names are relative to the URI. Errors are those of core/store.
 */
#ifndef RUNS_RUNDIR_H
#define RUNS_RUNDIR_H

#include "base/map.h"
#include "store/scheme.h"
#include "store/upload.h"

struct rundir {
	const char *uri; /* without '/' at its end */
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
	int tries;
	const struct scheme *scheme;
	struct http_client *http;
	int64_t now, changed; /* range_times() of the file that was read last */
	struct arena arena;
};

/* `env` as in store_conf. ERR_UNSUPPORTED: the scheme cannot upload. */
MUST_CHECK int rundir_open(struct rundir *p, const char *uri,
			   const char *(*env)(void *ctx, const char *name), void *ctx,
			   struct error *err);
void rundir_close(struct rundir *p);

MUST_CHECK int rundir_put(struct rundir *p, const char *name, const void *data,
			  size_t len, struct error *err);
/* The contents of an open file, such as a memfd. */
MUST_CHECK int rundir_put_fd(struct rundir *p, const char *name, int fd,
			     struct error *err);
/* Append the whole file. ERR_NOT_FOUND; ERR_LIMIT: longer than out->max. */
MUST_CHECK int rundir_get(struct rundir *p, const char *name, struct buf *out,
			  struct error *err);
/* List the objects below `name` whose paths end in `suffix`; there may be none. */
MUST_CHECK int rundir_list(struct rundir *p, const char *name, const char *suffix,
			   struct store_listing *ret, struct error *err);
struct rundir_pattern {
	const char *prefix, *suffix; /* of the path; prefix NULL: any */
	size_t max_bytes;            /* longer files are truncated */
};
/*
 * Read each matching object below `name`; there may be none. `each` gets its text, or, in
 * `err`, the error of reading it; -1 of `each` ends the iteration with the error in `err`.
 */
MUST_CHECK int rundir_read_each(struct rundir *p, const char *name,
				const struct rundir_pattern *pattern,
				int (*each)(void *ctx, const char *path,
					    const struct buf *text, struct error *err),
				void *ctx, struct error *err);
/* Upload the file `what`, or the files below the directory. */
MUST_CHECK int rundir_upload(struct rundir *p, const char *what, const char *name,
			     struct error *err);
/* Remove `name` and all below it; does nothing if the scheme cannot remove (hf). */
MUST_CHECK int rundir_remove(struct rundir *p, const char *name, struct error *err);
/* Selects files below a directory of the run directory. */
struct rundir_files {
	const char *const *allow; /* files that match one of these patterns; NULL: all */
	const struct map *paths;  /* files whose path is a key; NULL: all */
};
/*
 * Download the selected files below `name` that differ from those in the directory `to`.
 * *left: their maximum total size, from which it is subtracted; ERR_LIMIT; NULL: no limit.
 */
MUST_CHECK int rundir_download(struct rundir *p, const char *name, const char *to,
			       const struct rundir_files *files, int64_t *left,
			       struct error *err);

#endif
