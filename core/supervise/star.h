/*
 * star.h - the supervisors of a job, with that of rank 0 in the middle.
 *
 * The supervisor of rank 0 listens, and is the hub (supervise/hub.h). The others connect
 * to it, again and again when the connection is lost. Both ends prove by TLS 1.3 that
 * they have the job's key (crypto/psk.h). One thread uses a star; a second one, inside,
 * looks up the hub's name and connects. A job of one rank has a hub, but no connections.
 * A flood of strangers delays no rank: of the address with the most, the oldest ends.
 */
#ifndef SUPERVISE_STAR_H
#define SUPERVISE_STAR_H

#include "base/error.h"
#include "crypto/psk.h"
#include "supervise/decide.h"
#include "supervise/hub.h"
#include "trainer/supervision.h"

#define STAR_KEY_INFO "kftrainer supervise v1" /* of psk_key(), and the TLS identity */

enum { STAR_PORT = 29390 };

struct star_conf {
	uint32_t rank, ranks;
	const char *hub; /* its host; rank 0 listens on all addresses */
	int port;
	unsigned char key[PSK_KEY_SIZE];
	const struct supervise_rules *rules;
	int64_t idle_ms; /* > 0: a job in development (hub_dev) */
	/* Rank 0's: goes to all ranks with the next order. May change. */
	uint32_t token[MESSAGE_TOKEN];
	uint32_t attempt, sync; /* the same */
	bool stays; /* connected after the last order, to answer syncs, until it ends */
	/* A line for the log, without its end. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
	/* Rank 0's call when something has changed, or a minute is over; times are in it. */
	void (*report)(void *ctx, const struct supervision *counts);
	void *report_ctx;
};

/*
 * For a job in development. on_data: from this rank, 0 for a peer; len 0: the sender has
 * ended `id`. A peer reads no more from the hub while it returns false. on_lost: its
 * connection has ended.
 */
struct star_dev {
	bool (*on_data)(void *ctx, uint32_t rank, uint32_t id, const void *data,
			size_t len);
	void (*on_lost)(void *ctx, uint32_t rank);
	void *ctx;
};

struct star;
/* conf remains the caller's, and must remain. */
MUST_CHECK int star_open(struct star **ret, const struct star_conf *conf,
			 struct error *err);

int star_fd(const struct star *s);        /* readable: star_step() is due */
int64_t star_until(const struct star *s); /* of clock_ms(): it is due then, too */
/* -1: this supervisor cannot take part. */
MUST_CHECK int star_step(struct star *s, struct error *err);
/* Report this rank's state, after each change. */
void star_report(struct star *s, const struct peer_state *state);
void star_sign(struct star *s, const struct peer_sign *sign);
/* After ORDER_DUMP: the stacks of this rank's processes, and that these are all. */
void star_stack(struct star *s, uint32_t who, const struct buf *text);
void star_dumped(struct star *s);
/* True: there is a new order for this rank. */
bool star_order(struct star *s, struct hub_order *ret);
bool star_is_alone(const struct star *s);  /* the hub's: no other rank is connected */
uint32_t star_acked(const struct star *s); /* hub_acked() */
bool star_others_succeeded(const struct star *s); /* hub_others_succeeded() */
/* Rank 0's answer: is the job not started again after a failure? */
bool star_has_failed(const struct star *s);

/* `dev` remains the caller's, and must remain. */
void star_develop(struct star *s, const struct star_dev *dev);
/* The hub's to all other ranks, or a peer's to the hub; at most star_room() bytes. */
void star_send(struct star *s, uint32_t id, const void *data, size_t len);
size_t star_room(const struct star *s); /* SIZE_MAX: there is no other rank */
void star_resume(struct star *s);       /* after on_data() has returned false */
/* The hub's: */
int64_t star_missing(const struct star *s); /* a rank that has not joined, or -1 */
void star_rest(struct star *s);
void star_release(struct star *s);
const struct hub_dev *star_ended(const struct star *s); /* the last run; NULL: none has */

/*
 * Has no other rank still to be told that it is free? After a success one that is away is
 * awaited for ten minutes: its pod may have been lost, and have a successor.
 */
bool star_is_over(const struct star *s);
void star_leave(struct star *s); /* close all connections, as this process ends */

#endif
