/*
 * rerun.h - the client of `kftrainer rerun`: sends the changed files to the supervisors of
 * a job in development, and reads their answers (supervise/dev.h, pack/receive.h).
 *
 * A thread sends; the caller passes the output of the session in the pod to rerun_read().
 */
#ifndef CLIENT_RERUN_H
#define CLIENT_RERUN_H

#include "base/error.h"
#include "pack/exclude.h"

struct rerun_want {
	const char *path; /* a directory, or one file */
	struct exclude_includes includes;
	char *const *args; /* appended to the command; ends with NULL; or NULL */
	bool start_only;   /* end, successfully, once the command is started */
	/*
	 * The command's output: fd is 1 or 2. -1 ends the rerun. In rerun_read().
	 * Not called with start_only.
	 */
	int (*on_output)(void *ctx, int fd, const char *data, size_t len,
			 struct error *err);
	/* The number of files, and of those that are sent; in rerun_read(). Or NULL. */
	void (*on_send)(void *ctx, size_t sent, size_t files);
	void *ctx;
};

struct rerun;

/* List the files, and start to send. `want` must remain. Errors as of manifest_make(). */
MUST_CHECK int rerun_begin(struct rerun **ret, const struct rerun_want *want,
			   struct error *err);
int rerun_input(const struct rerun *r); /* becomes the session's standard input */
/*
 * Bytes of the session's standard output (fd 1) or error. ERR_STOPPED: with start_only,
 * the session is to be ended.
 */
MUST_CHECK int rerun_read(struct rerun *r, int fd, const char *data, size_t len,
			  struct error *err);

struct rerun_end {
	int code;       /* the command's */
	char text[200]; /* the rank that ended so, if it was not rank 0; or "" */
};
/*
 * Call it when the session has ended; frees all. -1: the rerun failed. `err` may have the
 * session's error on entry: a more specific one of the supervisor or this side replaces it.
 */
MUST_CHECK int rerun_finish(struct rerun *r, struct rerun_end *ret, struct error *err);

#endif
