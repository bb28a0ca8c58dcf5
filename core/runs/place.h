/*
 * place.h - the run directory as a place for files, whatever its URI's scheme.
 *
 * Names are relative to the URI. Errors are those of the store, with what to do.
 */
#ifndef RUNS_PLACE_H
#define RUNS_PLACE_H

#include "base/map.h"
#include "store/scheme.h"
#include "store/upload.h"

struct run_place {
	const char *uri; /* without '/' at its end */
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
	int tries;
	const struct scheme *scheme;
	struct http_client *http;
	/* Of the file that was read last: range_times(). */
	int64_t now, changed;
	struct arena arena;
};

/* `env` as store_conf's. ERR_UNSUPPORTED: one cannot write there. */
MUST_CHECK int place_open(struct run_place *p, const char *uri,
			  const char *(*env)(void *ctx, const char *name), void *ctx,
			  struct error *err);
void place_close(struct run_place *p);

MUST_CHECK int place_put(struct run_place *p, const char *name, const void *data,
			 size_t len, struct error *err);
/* All that is in a file, such as a memfd. */
MUST_CHECK int place_put_fd(struct run_place *p, const char *name, int fd,
			    struct error *err);
/* All of it. ERR_NOT_FOUND; ERR_LIMIT: longer than out->max. */
MUST_CHECK int place_get(struct run_place *p, const char *name, struct buf *out,
			 struct error *err);
/* The objects below `name` whose paths have that ending; none is fine. */
MUST_CHECK int place_list(struct run_place *p, const char *name, const char *ending,
			  struct store_listing *ret, struct error *err);
struct place_pick {
	const char *starts, *ends; /* of the path */
	size_t most;               /* bytes of each; what is longer is cut off */
};
/*
 * Read each such object below `name`; none is fine. `each` gets its text, or the error of
 * reading it; if it returns -1, with that error or another, this fails with it.
 */
MUST_CHECK int place_read(struct run_place *p, const char *name,
			  const struct place_pick *pick,
			  int (*each)(void *ctx, const char *path, const struct buf *text,
				      struct error *err),
			  void *ctx, struct error *err);
/* A file, or what is below a directory. */
MUST_CHECK int place_send(struct run_place *p, const char *what, const char *name,
			  struct error *err);
/* `name` and all below it; where a scheme cannot remove (hf), it stays. */
MUST_CHECK int place_remove(struct run_place *p, const char *name, struct error *err);
/* Files below a directory of the run directory. */
struct place_files {
	const char *const *allow; /* that match one of these patterns; NULL: all */
	const struct map *paths;  /* and whose path is a key; NULL: all */
};
/*
 * Into the directory `to`: those that differ. *left: the most bytes of all selected files,
 * which is subtracted; ERR_LIMIT; NULL: any.
 */
MUST_CHECK int place_fetch(struct run_place *p, const char *name, const char *to,
			   const struct place_files *files, int64_t *left,
			   struct error *err);

#endif
