/*
 * fetch_file.h - one file of a download: start or resume it, hash it, put it in place.
 * Private to the engine; fetch_impl.h says which thread calls what and holds the lock.
 */
#ifndef STORE_FETCH_FILE_H
#define STORE_FETCH_FILE_H

#include "store/journal.h"
#include "store/store.h"
#include "store/target.h"
#include "store/verify.h"

struct fetch;
struct piece;

/* An object being downloaded. */
struct file {
	struct file *next;
	size_t index; /* in the listing */
	struct store_object o;
	struct arena arena; /* for what o, etag and redirected_to point to */
	char part[TARGET_NAME_SIZE + 16], journal[TARGET_NAME_SIZE + 16];
	char validator_file[TARGET_NAME_SIZE + 16]; /* its size and etag, for resuming */
	int fd, journal_fd;
	bool check_local; /* a local file has that size: does its digest match? */
	bool busy;        /* a worker starts, resets or finishes it */
	bool restart;     /* start over when its last piece has ended */
	bool no_ranges;   /* one request: the server gives no ranges, or mixes versions */
	bool resumed;     /* its validator is from an earlier run */
	const char *local_validator; /* of the file in place; or NULL */
	int64_t local_size;          /* its bytes */
	bool unchanged;              /* the local file is current */
	struct range *left; /* ranges that are missing and in no piece; ascending */
	size_t n_left;
	struct piece *pieces;
	int restarts, tried, refused, slow;
	int64_t not_before, failed_ms; /* the last failure that was counted */
	const char *etag;              /* or Last-Modified; of the local contents */
	const char *redirected_to;   /* final URL of redirects; may contain a signature */
	bool redirected_same_origin; /* same origin: send the headers, too */
	struct verify *verify;
	bool hashing;     /* some thread does */
	bool catching_up; /* by reading back from the file */
	int64_t hashed;   /* up to here; atomic */
	int64_t written;  /* bytes of it that are here; atomic */
};

MUST_CHECK int file_begin(struct fetch *f, struct file *file, bool *ret_present,
			  struct error *err);
MUST_CHECK int file_reset(struct fetch *f, struct file *file, struct error *err);
MUST_CHECK int file_reserve(struct fetch *f, struct file *file, struct error *err);
/* Are its contents identified, by a digest, an ETag or Last-Modified? */
bool file_is_identified(const struct file *file);
bool file_has_sums(const struct fetch *f, const struct file *file); /* its journal */
void file_record(struct fetch *f, struct piece *p);                 /* into the journal */
/* Hash [file->hashed, to), which must be written. */
MUST_CHECK int file_hash(struct file *file, int64_t to, struct error *err);
/* All bytes are written: 0 and in place, or *ret_wrong: digest mismatch. */
MUST_CHECK int file_end(struct fetch *f, struct file *file, bool *ret_wrong,
			struct error *err);
void file_free(struct file *file);
int disk_full(struct fetch *f, int64_t need, struct error *err); /* -1 */

#endif
