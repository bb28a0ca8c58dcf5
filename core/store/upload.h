/*
 * upload.h - the way back: files of this machine to s3://BUCKET/PREFIX, or to a hub.
 *
 * Several parts at once, each with its checksums (s3_put.h). What the place has already
 * (the same size, an ETag that is the MD5 of our bytes, or of our parts') is not sent
 * again, nor are the parts of an upload of ours that broke off (begun.h): the server has
 * the list of those. A file that changes meanwhile is an error.
 */
#ifndef STORE_UPLOAD_H
#define STORE_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/filter.h"
#include "store/store.h"

enum { UPLOAD_CONNECTIONS = 4, UPLOAD_MAX_CONNECTIONS = 32 };

struct upload_now {
	size_t files, files_done;
	int64_t bytes, bytes_done; /* of all files; sent, or there already */
	int64_t bytes_sent;
	unsigned connections;
	int64_t ms; /* since it began */
};

struct upload_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	struct http_client *http;                        /* HTTP/1.1 */
	const struct filter *filter; /* of paths below the folder; NULL: all */
	unsigned connections;        /* 0: UPLOAD_CONNECTIONS, fewer for large parts */
	int tries;                   /* as store_conf's */
	/* Ten times a second, from the thread that called; or NULL. */
	void (*tick)(void *ctx, const struct upload_now *now);
	/* From any thread: a file is there, `sent` or already; a line. Or NULL. */
	void (*file)(void *ctx, const char *path, int64_t bytes, bool sent);
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * All files below the folder, to PREFIX/path; links and what is no file are left out
 * (say), and .kftrainer. No file at all: ERR_NOT_FOUND. *ret is filled in any case. A
 * file in place of the folder is store_put().
 */
MUST_CHECK int upload_folder(const struct upload_conf *conf, const char *folder,
			     struct upload_now *ret, struct error *err);

/* One file, to the object of just that URI. */
MUST_CHECK int store_put(const struct upload_conf *conf, const char *file,
			 struct upload_now *ret, struct error *err);

#endif
