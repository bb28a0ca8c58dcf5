/*
 * put.h - the arguments of scheme->put: local files, and callbacks for progress.
 */
#ifndef STORE_PUT_H
#define STORE_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

struct store_conf;

struct put_file {
	int root; /* the directory `path` is below; -1: `name`, or what it links to */
	const char *path; /* below the URI's directory, and below root */
	const char *name; /* on this machine; for messages, too */
	int64_t size;
	struct timespec changed;
};

struct put_conf {
	const struct store_conf *store;
	const char *dir; /* of the files; NULL: one file, to exactly that URI */
	const struct put_file *files;
	size_t n;
	unsigned connections; /* at most; 0: the scheme's choice */
	bool background;      /* all connections but one take only idle CPU time (s3) */
	bool blind;           /* do not ask first what is there: send all */
	/*
	 * From any thread: bytes of a file are done, `sent` or unchanged; a file is
	 * complete.
	 */
	void (*progress)(void *ctx, int64_t bytes, bool sent);
	void (*done)(void *ctx, size_t i, bool sent);
	/* How many connections are used. */
	void (*started)(void *ctx, unsigned connections);
	void *ctx;
};

/*
 * Open it below its root, following no link. ERR_CONFLICT: its size or modification time
 * has changed.
 */
MUST_CHECK int put_file_open(const struct put_file *f, int *ret_fd, struct error *err);

/* Read exactly len bytes at `at`. ERR_CONFLICT: the file has changed by then. */
MUST_CHECK int put_file_read(const struct put_file *f, int fd, int64_t at, void *data,
			     size_t len, struct error *err);

#endif
