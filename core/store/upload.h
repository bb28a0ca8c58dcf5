/*
 * upload.h - upload local files to a URI whose scheme has `put`, skipping those that are
 * already there. The given path may be or contain a symbolic link; below it none is
 * followed.
 */
#ifndef STORE_UPLOAD_H
#define STORE_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/filter.h"
#include "store/store.h"

enum { UPLOAD_MAX_CONNECTIONS = 32 };

struct upload_progress {
	size_t files, files_done;
	int64_t bytes, bytes_done; /* of all files; sent, or unchanged */
	int64_t bytes_sent;
	unsigned connections;
	int64_t ms; /* since it began */
};

struct upload_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	struct http_client *http;                        /* HTTP/1.1 */
	const struct filter *filter; /* of paths below the directory; NULL: all */
	unsigned connections;        /* at most; 0: the scheme's choice */
	int tries;                   /* as store_conf's */
	bool background, blind;      /* as put_conf's */
	bool links;                  /* also what symbolic links to files are to */
	const char *shown_name;      /* of a file, in errors; NULL: its last part */
	/* Ten times a second, from the thread that called; or NULL. */
	void (*tick)(void *ctx, const struct upload_progress *now);
	/* From any thread: a file is done, `sent` or unchanged; a line. Or NULL. */
	void (*file)(void *ctx, const char *path, int64_t bytes, bool sent);
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * `what`: a file, uploaded as the object of exactly that URI; or a directory, whose files
 * go to URI/PATH. Skipped are .kftrainer, symbolic links (but conf->links) and other files
 * that are not regular (reported by say). ERR_NOT_FOUND: no file. ERR_CONFLICT: a file changed while
 * it was sent. *ret is always filled.
 */
MUST_CHECK int upload_run(const struct upload_conf *conf, const char *what,
			  struct upload_progress *ret, struct error *err);

/*
 * Name the contents of the files that upload_run() uploads: the SHA-256 of what
 * `sha256sum` prints of them, sorted by the bytes of their paths below the directory.
 * *ret_largest: the path of the largest, in the arena. Only conf->filter is used.
 * Errors as of upload_run(), and ERR_STOPPED.
 */
MUST_CHECK int upload_digest(const struct upload_conf *conf, const char *what,
			     struct arena *arena, const char **ret_hex,
			     const char **ret_largest, struct error *err);

/*
 * The files that upload_run() uploads from a directory, sorted by the bytes of their
 * paths, each with its SHA-256 in hex; -1 of `each` ends it. Of conf, filter, links and
 * say are used.
 */
MUST_CHECK int upload_list(const struct upload_conf *conf, const char *what,
			   int (*each)(void *ctx, const char *path, int64_t size,
				       const char *hex, struct error *err),
			   void *ctx, struct error *err);

#endif
