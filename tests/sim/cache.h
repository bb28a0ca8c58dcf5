/*
 * cache.h - world two: the data cache's head, workers and readers in one process.
 *
 * The program's fleet, loans, claims, holdings, plans, streams and client run, driven by
 * events in the order that the seed chooses. What stands in: the network (calls are lost,
 * repeated, delayed, cut), the loading of rows (slow, failing), and the table's files.
 */
#ifndef SIM_CACHE_H
#define SIM_CACHE_H

#include "cache/answers.h"
#include "cache/client.h"
#include "cache/fleet_impl.h"
#include "cache/holdings_impl.h"
#include "cache/memtable_impl.h"
#include "cache/table_impl.h"
#include "tests/sim/events.h"

enum { CACHE_WORKERS = 4, CACHE_READERS = 3, CACHE_UNITS = 8, CACHE_FILES = 3 };
enum { HEAD = CACHE_WORKERS, CACHE_SERVERS };

struct cache;

/* The table: rows `base`, base + 1, ... as its only column, and its units' messages. */
struct lake {
	int64_t base;
	struct table table;
	struct file files[CACHE_FILES];
	struct unit units[CACHE_UNITS];
	struct message messages[CACHE_UNITS];
	struct field column;
	int64_t values[CACHE_UNITS * 10];
};

/* A call. Its caller ends it by `ended`; the network frees it with its last event. */
struct call {
	struct cache *c;
	int to;     /* a worker's number, or HEAD */
	int events; /* that have it */
	bool ended;
	struct buf message, answer;
	struct error err;         /* of the answer */
	int64_t served_ms;        /* when the request arrived */
	uint64_t faults;          /* until then; UINT64_MAX: rows are missing */
	struct lake *lake;        /* of the head that answered */
	const char *path;         /* "/package.Service/Method" */
	char claim[FLEET_SECRET]; /* of a head's calls; "": a reader's */
	void *reading;            /* of a stream */
	struct node *node;        /* that answers */
	int (*on_message)(void *ctx, const void *data, size_t len, struct error *err);
	void (*on_end)(void *ctx, int rc, const struct error *err);
	void *ctx;
};

/* A process of a worker, until it dies. */
struct node {
	struct cache *c;
	int i;
	bool dead, loads; /* an event of the loader waits */
	int64_t started_ms;
	struct worker worker;
	struct holding *it; /* that is being loaded */
	int64_t left;       /* ms until it is loaded */
	int64_t put_ms;     /* files were last put here */
	int64_t obeyed_ms;  /* the head that runs last assigned rows */
	int failed;         /* loads */
};

/* A process of the head. */
struct poller {
	struct leader *leader;
	struct remote *r;
	int i;
	cJSON *doc;
	bool ready;
	char trouble[FLEET_TEXT];
	struct call *call;           /* NULL: it waits */
	struct node *answers, *node; /* to this poll, to the last that ended */
	int64_t answered_ms;         /* it did; or this head's start */
	int64_t ready_ms;            /* since when it is ready, if it is */
};
struct leader {
	struct cache *c;
	bool dead;
	struct lake *lake; /* that it found */
	struct cache_conf conf;
	struct head head;
	struct poller pollers[CACHE_WORKERS];
};

struct consumer {
	struct cache *c;
	int i;
	struct client_conf conf;
	struct client_reader *r;
	struct call *call;
	char command[120];
	int64_t rank, world, floor; /* floor: of a filter; 0: none */
	const char *equal;          /* NULL: not */
	bool careless;           /* as clients that do not count rows, and begin again */
	const struct lake *lake; /* of its FlightInfo */
	int64_t want, got;
	int64_t informed_ms; /* its FlightInfo was made */
	uint64_t faults;
	bool done;
};

struct cache {
	struct sim *sim;
	struct lake lakes[2], *lake; /* the second replaces the first; the current one */
	struct cache_conf conf;
	struct cache_address addresses[CACHE_WORKERS];
	struct arena arena; /* processes */
	struct leader *leader;
	struct node *nodes[CACHE_WORKERS];
	struct consumer consumers[CACHE_READERS];
	int n_consumers;
	struct memtable **tables; /* all that are in use */
	size_t n_tables;

	/* What may happen, in percent; and what does. */
	int lose, repeat, delay, cut, slow, fail;
	bool calm, over; /* no more faults; the schedule has ended */
	bool apart[CACHE_SERVERS][CACHE_SERVERS]; /* links; of readers: [i][i] */
	bool storage_down;
	bool changes;   /* the table is replaced some time */
	bool mirrors;   /* endpoints have two locations */
	bool snapshots; /* the head names one */
	int theirs;     /* a worker of upstream's; -1: none */
	int away;       /* a worker that remains dead; -1: none */
	bool was_ready; /* all workers had their rows at some time */
	int n_leaders;  /* processes of the head, so far */
	int64_t room;   /* rows that fit in a worker */
	uint64_t faults, calls;
	int64_t copied_ms; /* when a late copy of a call was last served */
};

#define TOKEN         "Bearer of-all-heads"
#define STOPPED       "loading was interrupted"
#define PERCENT(c, n) (!(c)->calm && sim_dice((c)->sim, 100) >= 100 - (n))

void cache_fault(struct cache *c, const char *fmt, ...) PRINTF_LIKE(2, 3); /* note it */

/* ---- cache_lake.c ---- */

void lake_init(struct lake *l, struct sim *sim);
/* The same rows, or others; and files of other names. */
void lake_init_next(struct lake *l, const struct lake *before, struct sim *sim);
void lake_release(struct lake *l);
struct memtable *lake_load(struct cache *c, const struct holding *it);
void lake_check(struct cache *c); /* memory is held by workers and streams only */

/* ---- cache_net.c ---- */

struct call *call_new(struct cache *c, int to, const char *path,
		      const struct iovec *body);
void call_send(struct call *call);
void call_cancel(struct call *call); /* NULL is fine */

/* ---- cache_nodes.c: head and workers ---- */

void node_start(struct cache *c, int i);
void node_kill(struct cache *c, int i);
void node_load(struct node *n); /* it may have been assigned rows */
void leader_start(struct cache *c);
void leader_kill(struct cache *c);
void leader_check(struct cache *c);
/* Upstream's worker: load the files with these rows. ERR_BUSY: it has not done so yet. */
int node_put(struct node *n, struct rows rows, struct error *err);
bool node_has(const struct node *n, struct rows rows);
bool leader_settled(struct cache *c); /* each worker has its rows, or others do */

/* ---- cache_readers.c ---- */

void consumer_start(struct cache *c, int i);

#endif
