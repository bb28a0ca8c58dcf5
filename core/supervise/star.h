/*
 * star.h - connect the supervisors of a job in a star, with that of rank 0 as the hub.
 *
 * The supervisor of rank 0 listens and runs the hub (supervise/hub.h). The others, its
 * peers, connect to it, and reconnect when the connection is lost. Both ends prove by TLS
 * 1.3 that they have the job's key (crypto/psk.h). A star is used by one thread; a second,
 * internal one resolves the hub's name and connects. A job of one rank has a hub, but no
 * connections. Unauthenticated connections delay no rank (net/preauth.h).
 */
#ifndef SUPERVISE_STAR_H
#define SUPERVISE_STAR_H

#include "base/error.h"
#include "crypto/psk.h"
#include "supervise/decide.h"
#include "supervise/hub.h"
#include "trainer/supervision.h"

#define STAR_KEY_INFO "kftrainer supervise v1" /* info of psk_key(); the TLS identity */

enum { STAR_PORT = 29390 };

struct star_conf {
	uint32_t rank, ranks;
	const char *hub; /* the host of rank 0, which listens on all addresses */
	int port;
	unsigned char key[PSK_KEY_SIZE];
	const struct supervise_rules *rules;
	int64_t idle_ms; /* > 0: a job in development (hub_dev) */
	/* Rank 0: sent to all ranks with the next order. May change. */
	uint32_t token[MESSAGE_TOKEN];
	uint32_t attempt, sync;
	bool stays; /* stay connected after ORDER_FREE, to acknowledge syncs */
	/* Logs a line, given without a newline. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
	/* Rank 0: called after a change, and each minute; `counts` has the times, too. */
	void (*report)(void *ctx, const struct supervision *counts);
	void *report_ctx;
};

/*
 * For a job in development. on_data: data from `rank`, 0 on a peer; len 0 ends the stream
 * `id`. While it returns false on a peer, nothing more is read from the hub. on_lost: the
 * connection has ended.
 */
struct star_dev {
	bool (*on_data)(void *ctx, uint32_t rank, uint32_t id, const void *data,
			size_t len);
	void (*on_lost)(void *ctx, uint32_t rank);
	void *ctx;
};

struct star;
/* The caller keeps conf valid until the process ends; the star is never freed. */
MUST_CHECK int star_open(struct star **ret, const struct star_conf *conf,
			 struct error *err);

int star_fd(const struct star *s);        /* readable: call star_step() */
int64_t star_until(const struct star *s); /* call it also at that clock_ms() */
/* Never blocks. ERR_UNSUPPORTED: rank 0 refuses this rank. */
MUST_CHECK int star_step(struct star *s, struct error *err);
/* Send this rank's state; call it after each change. */
void star_report(struct star *s, const struct peer_state *state);
void star_activity(struct star *s, const struct peer_activity *activity);
/* After ORDER_DUMP: send the stack of each process, then star_dumped(). */
void star_stack(struct star *s, uint32_t who, const struct buf *text);
void star_dumped(struct star *s);
/* True: the order is new. */
bool star_order(struct star *s, struct hub_order *ret);
bool star_is_alone(const struct star *s);         /* rank 0: no other rank is connected */
uint32_t star_acked(const struct star *s);        /* hub_acked() */
bool star_others_succeeded(const struct star *s); /* hub_others_succeeded() */
/* Rank 0: has the job failed, and is not started again? */
bool star_has_failed(const struct star *s);

/* The caller keeps `dev` valid. */
void star_develop(struct star *s, const struct star_dev *dev);
/* Send data to all other ranks, or from a peer to the hub; at most star_room() bytes. */
void star_send(struct star *s, uint32_t id, const void *data, size_t len);
size_t star_room(const struct star *s); /* SIZE_MAX: no other rank is connected */
void star_resume(struct star *s);       /* read again after on_data() returned false */
/* Rank 0: */
int64_t star_missing(const struct star *s); /* a rank that has not joined; -1: none */
void star_hold(struct star *s);
void star_release(struct star *s);
const struct hub_dev *star_ended(const struct star *s); /* the last run; NULL: it runs */

/*
 * Do all other ranks have ORDER_FREE, or are they not awaited any longer? After a success a
 * disconnected rank is awaited for ten minutes: its pod may be replaced.
 */
bool star_is_over(const struct star *s);
void star_leave(struct star *s); /* close all connections */

#endif
