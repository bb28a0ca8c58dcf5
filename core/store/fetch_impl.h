/*
 * fetch_impl.h - what the files of the engine share.
 *
 *     fetch.c        the run: listing, space, threads, the end
 *     fetch_pace.c   how many connections pay
 *     fetch_plan.c   who does what next: the only state that is shared, one lock
 *     fetch_file.c   a file: begin or resume, hash, begin anew, put in place
 *     fetch_piece.c  one request for a range of one
 *
 * A worker takes a task from the plan, does it without the lock, and tells the plan.
 */
#ifndef STORE_FETCH_IMPL_H
#define STORE_FETCH_IMPL_H

#include <pthread.h>

#include "store/fetch.h"
#include "store/fetch_file.h"
#include "store/ledger.h"

enum {
	GRAIN = 256 * 1024,     /* bytes between two records of a journal */
	JOURNAL_FROM = 1 << 20, /* smaller files have none */
	CHUNK = 256 * 1024,     /* bytes that are read at once */
	PIECE_MIN = 1 << 20,    /* of a file that is more than one */
	PIECE_MAX = 16 << 20,
	FEW = 4,             /* connections at first */
	HASH_STEP = 4 << 20, /* bytes that are hashed before somebody looks around */
	BACKLOG = 64 << 20,  /* bytes of a file that may wait for that, in memory */
	IDLE_MS = 30 * 1000,
	PROGRESS = 64 * 1024, /* bytes that make another try worth it */
};

enum outcome {
	PIECE_OK,      /* what is left of it goes back to the plan */
	PIECE_NOW,     /* the same, no fault: at once */
	PIECE_AGAIN,   /* err says why: after a pause */
	PIECE_CHANGED, /* the file has to begin anew */
	PIECE_FATAL
};

/* A range of a file on its way: [from, end), of which [from, pos) is written. */
struct piece {
	struct piece *next;
	struct file *f;
	struct fetch *fetch;
	int64_t from, end;                   /* end is -1 while the size is not known */
	int64_t pos;                         /* atomic */
	int64_t recorded;                    /* where the journal's last record ends */
	uint32_t crc;                        /* of [recorded, pos) */
	bool hashes;                         /* what it writes is hashed at once */
	bool cancel;                         /* it is too slow, or all is over */
	bool stalled;                        /* next to nothing comes */
	int64_t began_ms, mark_ms, mark_pos; /* for judging its speed */

	const char *
		known_redirect; /* what was known of redirects when it was asked; or NULL */
	bool renewed;           /* with credentials made anew */

	/* the answer */
	bool checked; /* its head has been looked at */
	int status;
	int64_t reply_from, reply_to, total, length; /* -1: not said */
	int64_t skip;                                /* bytes to pass over */
	const char *reply_etag, *modified;
	bool encoded;
	int64_t first_ms; /* the first byte */
	int64_t pause_ms; /* Retry-After, or -1 */
	enum outcome outcome;
	struct arena arena;
};

struct fetch {
	const struct fetch_conf *conf;
	struct target target;
	struct ledger ledger;
	struct filter filter; /* conf's, and what is rescued */
	struct store_listing list;
	struct known {
		bool check, present;
		const char *validator;
	} * known; /* of each object */
	int64_t begin_ms;

	pthread_mutex_t lock;   /* of what follows, and of struct file */
	pthread_cond_t changed; /* there may be something to do */
	pthread_cond_t over;    /* all is there, or it has failed */
	struct file *files;     /* begun and not ended, in the order of the listing */
	size_t n_files;
	size_t next;   /* the object to begin next */
	size_t n_left; /* objects not there */
	bool failed;
	struct error why; /* when failed */
	int64_t pause_until;
	int64_t tell_next;   /* before, pauses are not told */
	int64_t piece_bytes; /* size of the next piece */
	int64_t rate;        /* bytes a second of a connection, of late */
	unsigned want, n_threads, n_working;
	pthread_t threads[FETCH_MAX_CONNECTIONS];
	pthread_mutex_t listing; /* one asks for a new listing */
	pthread_mutex_t telling;

	int64_t bytes, bytes_done, bytes_fetched; /* atomic */
	size_t files_done, files_unsized;         /* atomic */
};

static inline void count(int64_t *n, int64_t by)
{
	__atomic_add_fetch(n, by, __ATOMIC_RELAXED);
}

static inline int64_t count_of(const int64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* fetch_plan.c: call without the lock */
enum task { TASK_END, TASK_BEGIN, TASK_PIECE };
enum task plan_take(struct fetch *f, struct file **ret_file, struct piece **ret_piece);
void plan_started(struct fetch *f, struct file *file, bool there);
void plan_piece_end(struct fetch *f, struct piece *p, struct error *err);
void plan_fail(struct fetch *f, const char *path, const struct error *err);
bool plan_claim_all(struct fetch *f, struct piece *p); /* this answer is all of it */
/* The place has said how long it is. */
MUST_CHECK int plan_size_known(struct fetch *f, struct file *file, int64_t size,
			       struct error *err);

/* fetch_piece.c: fills p->outcome */
void piece_run(struct fetch *f, struct piece *p, struct error *err);

/* What is there, filtered; without digests where none are wanted. */
MUST_CHECK int fetch_list(const struct fetch_conf *c, struct filter_look *look,
			  struct store_listing *ret, struct error *err);
void fetch_tell(struct fetch *f, enum fetch_event e, const char *path, int64_t bytes);
void fetch_say(struct fetch *f, const char *line);

#endif
