/*
 * peerconn.h - a connection between two supervisors (private to core/supervise).
 *
 * Never blocks: the owner waits for peerconn_events() and calls peerconn_step(). Once `over`
 * is set, `why` is the cause, and only peerconn_free() may be called.
 */
#ifndef SUPERVISE_PEERCONN_H
#define SUPERVISE_PEERCONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sock.h"
#include "crypto/psk.h"
#include "supervise/message.h"

enum { PEERCONN_KEEPALIVE_MS = 2000, PEERCONN_TIMEOUT_MS = 10 * 1000 };

struct peerconn {
	struct peerconn *next; /* the owner's list */
	struct psk_conn *tls;
	int fd;
	bool open;        /* the TLS handshake is done: the peer has the job's key */
	bool wants_write; /* TLS waits until the socket is writable */
	bool broken;      /* a write failed: only data that has arrived is still read */
	bool over;        /* the connection has ended */
	bool closed;      /* the peer has closed it */
	int64_t since, received, sent; /* clock_ms(): of the start, the last data */
	struct buf in, out;
	size_t sending; /* bytes of `out` passed to psk_write(); 0: none */
	char peer[SOCK_ADDRESS_SIZE];
	struct error why;
	/* Used by the owner only: */
	uint32_t watched; /* the events for which it waits */
	int64_t rank;     /* -1: not known yet */
	bool stated;      /* the rank has sent its state */
	bool refused;     /* MESSAGE_REFUSED was sent */
	bool paused;      /* set to stop reading */
	struct buf stack; /* pieces of MESSAGE_STACK */
};

/* Takes fd. Never NULL: after a failure, `over` is set. */
struct peerconn *peerconn_new(struct psk *psk, int fd, const char *peer, int64_t now);
void peerconn_free(struct peerconn *l); /* NULL is fine */

uint32_t peerconn_events(const struct peerconn *l); /* of epoll(7); never 0 */
/* Handles a message, except MESSAGE_KEEPALIVE. -1 ends the connection. */
typedef int peerconn_take(void *ctx, struct peerconn *l, const struct message *m,
			  struct error *err);
/* Read and write what is possible. *ret_opened: `open` has just become true. */
void peerconn_step(struct peerconn *l, peerconn_take *take, void *ctx, bool *ret_opened,
		   int64_t now);
void peerconn_send(struct peerconn *l, const struct message *m, int64_t now);
/* Send at most peerconn_room() bytes as MESSAGE_DATA; len 0: one empty message. */
void peerconn_send_data(struct peerconn *l, uint32_t id, const void *data, size_t len,
			int64_t now);
size_t peerconn_room(const struct peerconn *l); /* 0 unless open */
/* Send a keepalive when it is due; end the connection after PEERCONN_TIMEOUT_MS. */
void peerconn_tick(struct peerconn *l, int64_t now);
int64_t peerconn_until(const struct peerconn *l); /* when to call peerconn_tick() */
void peerconn_end(struct peerconn *l, enum error_kind kind, const char *why);

#endif
