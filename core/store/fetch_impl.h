/*
 * fetch_impl.h - shared by the files of the download engine.
 *
 *     fetch.c        the run: listing, disk space, threads, the end
 *     fetch_pace.c   how many connections are worth it
 *     fetch_plan.c   which worker does what next: the only shared state, one lock
 *     fetch_file.c   a file: start or resume, hash, start over, put in place
 *     fetch_piece.c  one request for a range of a file
 *
 * A worker takes a task from the plan, does it without the lock, and reports to the plan.
 */
#ifndef STORE_FETCH_IMPL_H
#define STORE_FETCH_IMPL_H

#include <pthread.h>

#include "store/fetch.h"
#include "store/fetch_file.h"
#include "store/ledger.h"
#include "store/reply.h"

enum {
	GRAIN = 256 * 1024,     /* bytes between two records of a journal */
	JOURNAL_FROM = 1 << 20, /* smaller files have none */
	CHUNK = 256 * 1024,     /* bytes that are read at once */
	PIECE_MIN = 1 << 20,    /* of a file that is more than one */
	PIECE_MAX = 16 << 20,
	FIRST_CONNECTIONS = 4,
	HASH_STEP = 4 << 20, /* bytes hashed between checks */
	BACKLOG = 64 << 20,  /* bytes of a file that may wait for hashing, in memory */
	IDLE_MS = 30 * 1000,
	PROGRESS = 64 * 1024, /* bytes that count as progress */
};

enum outcome {
	PIECE_OK,        /* the rest goes back to the plan */
	PIECE_RETRY_NOW, /* the same, and no failed try */
	PIECE_RETRY,     /* after a pause; err says why */
	PIECE_CHANGED,   /* the file must start over */
	PIECE_FATAL
};

/* A range of a file in flight: [from, end), of which [from, pos) is written. */
struct piece {
	struct piece *next;
	struct file *f;
	struct fetch *fetch;
	int64_t from, end;                   /* end is -1 while the size is unknown */
	int64_t pos;                         /* atomic */
	int64_t recorded;                    /* where the journal's last record ends */
	uint32_t crc;                        /* of [recorded, pos) */
	bool hashes;                         /* hash what it writes at once */
	bool cancel;                         /* too slow, or the run ends */
	bool stalled;                        /* almost no bytes arrive; under the lock */
	int64_t began_ms, mark_ms, mark_pos; /* to measure its speed */

	const char *known_redirect; /* file->redirected_to when it began; or NULL */
	bool renewed;               /* with renewed credentials */
	bool no_ranges;             /* file->no_ranges when it began */

	/* the response */
	bool checked; /* its header was checked */
	struct reply reply;
	int64_t skip;     /* bytes to skip */
	int64_t first_ms; /* the first byte; written under the lock */
	int64_t pause_ms; /* Retry-After, or -1 */
	enum outcome outcome;
	struct arena arena;
};

struct fetch {
	const struct fetch_conf *conf;
	struct target target;
	struct ledger ledger;
	struct filter filter; /* conf's, plus filter_fallback()'s */
	struct store_listing list;
	struct prior {
		bool check, present;
		const char *validator;
		int64_t size;
	} * known; /* of each object */
	int64_t begin_ms;

	pthread_mutex_t lock;   /* guards what follows, and struct file */
	pthread_cond_t changed; /* there may be work */
	pthread_cond_t over;    /* complete, or failed */
	struct file *files;     /* in progress, in the order of the listing */
	size_t n_files;
	size_t next;   /* the next object to start */
	size_t n_left; /* objects not complete */
	bool failed;
	struct error why; /* when failed */
	int64_t pause_until;
	int64_t next_report; /* no pause is reported before */
	int64_t piece_bytes; /* size of the next piece */
	int64_t rate;        /* recent bytes per second of a connection */
	unsigned want, n_threads, n_working;
	pthread_t threads[FETCH_MAX_CONNECTIONS];
	pthread_mutex_t listing; /* one thread lists again */
	pthread_mutex_t report_lock;

	int64_t bytes, bytes_done, bytes_fetched; /* atomic */
	size_t files_done, files_unsized;         /* atomic */
	unsigned unexpected; /* files that are not what their names promise; atomic */
};

static inline void fetch_count(int64_t *n, int64_t by)
{
	__atomic_add_fetch(n, by, __ATOMIC_RELAXED);
}

static inline int64_t fetch_count_of(const int64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* fetch_plan.c: call without the lock */
enum task { TASK_END, TASK_BEGIN, TASK_PIECE };
enum task plan_next_task(struct fetch *f, struct file **ret_file,
			 struct piece **ret_piece);
void plan_started(struct fetch *f, struct file *file, bool there);
void plan_piece_end(struct fetch *f, struct piece *p, struct error *err);
void plan_fail(struct fetch *f, const char *path, const struct error *err);
bool plan_claim_all(struct fetch *f,
		    struct piece *p); /* this response is the whole file */
/* The server sent the size. */
MUST_CHECK int plan_size_known(struct fetch *f, struct file *file, int64_t size,
			       struct error *err);

/* fetch_piece.c: fills p->outcome */
void piece_run(struct fetch *f, struct piece *p, struct error *err);

/* The listing, filtered; without digests if unverified. */
MUST_CHECK int fetch_list(const struct fetch_conf *c, struct filter_stats *stats,
			  struct store_listing *ret, struct error *err);
void fetch_report(struct fetch *f, enum fetch_event e, const char *path, int64_t bytes);
void fetch_say(struct fetch *f, const char *line);

#endif
