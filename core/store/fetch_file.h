/*
 * fetch_file.h - a file while it is fetched: begin or resume it, hash it, put it in
 * place. Private to the engine; fetch_impl.h says who calls what and holds the lock.
 */
#ifndef STORE_FETCH_FILE_H
#define STORE_FETCH_FILE_H

#include "store/journal.h"
#include "store/store.h"
#include "store/target.h"
#include "store/verify.h"

struct fetch;
struct piece;

/* An object while it is fetched. */
struct file {
	struct file *next;
	size_t index; /* in the listing */
	struct store_object o;
	struct arena arena; /* of what o, etag and where point to, when learnt */
	char part[TARGET_NAME_SIZE + 16], journal[TARGET_NAME_SIZE + 16];
	char note[TARGET_NAME_SIZE + 16];
	int fd, journal_fd;
	bool check_local;            /* a file of that size is there: is it right? */
	bool busy;                   /* one worker begins, resets or ends it */
	bool restart;                /* to begin anew when its last piece has ended */
	bool no_ranges;              /* the server gives no ranges */
	bool resumed;                /* its validator is of an earlier run */
	const char *local_validator; /* of the file in place; or NULL */
	bool unchanged;              /* the place has that one: 304 */
	struct range *left;          /* not there and in no piece; ascending */
	size_t n_left;
	struct piece *pieces;
	int restarts, tried, refused, slow;
	int64_t not_before, failed_ms; /* the last failure that was counted */
	const char *etag;            /* or Last-Modified: of the contents that are here */
	const char *redirected_to;   /* where redirects led to; may hold a signature */
	bool redirected_same_origin; /* the same host: it gets the headers, too */
	struct verify *verify;
	bool hashing;     /* somebody does */
	bool catching_up; /* by reading what has been written */
	int64_t hashed;   /* up to here; atomic */
	int64_t written;  /* bytes of it that are here; atomic */
};

MUST_CHECK int file_begin(struct fetch *f, struct file *file, bool *ret_present,
			  struct error *err);
MUST_CHECK int file_reset(struct fetch *f, struct file *file, struct error *err);
MUST_CHECK int file_reserve(struct fetch *f, struct file *file, struct error *err);
/* Is it known which contents they are: by a digest, an ETag, a Last-Modified? */
bool file_is_named(const struct file *file);
bool file_has_sums(const struct fetch *f, const struct file *file); /* its journal */
void file_record(struct fetch *f, struct piece *p);                 /* into the journal */
/* Hash [file->hashed, to), which is written. */
MUST_CHECK int file_hash(struct file *file, int64_t to, struct error *err);
/* All is here: 0 and in place, or *ret_wrong: the digest is not right. */
MUST_CHECK int file_end(struct fetch *f, struct file *file, bool *ret_wrong,
			struct error *err);
void file_free(struct file *file);
void file_note_etag(struct fetch *f, struct file *file);
int disk_full(struct fetch *f, int64_t need, struct error *err); /* -1 */

#endif
