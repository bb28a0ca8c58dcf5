/*
 * line.h - a connection between two supervisors (private to core/supervise).
 *
 * A line never blocks: its owner waits for line_events() and calls line_step(). Once
 * `over`, it is only to be freed; `why` says what ended it.
 */
#ifndef SUPERVISE_LINE_H
#define SUPERVISE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sock.h"
#include "crypto/psk.h"
#include "supervise/message.h"

enum { LINE_BEAT_MS = 2000, LINE_GONE_MS = 10 * 1000 };

struct line {
	struct line *next; /* the owner's list */
	struct psk_conn *tls;
	int fd;
	uint32_t watched; /* the owner's: events for which it waits */
	bool open;        /* the peer has the job's key */
	bool wants_write; /* TLS does */
	bool broken;      /* a write failed: what the peer sent before is still read */
	bool over;
	bool closed;                /* by the peer */
	int64_t rank;               /* the owner's: -1 before it is known */
	bool stated;                /* the owner's: it has said its state */
	bool refused;               /* the owner's */
	bool paused;                /* the owner's: read nothing for now */
	struct buf stack;           /* the owner's: the pieces that have arrived */
	int64_t since, heard, sent; /* of clock_ms() */
	struct buf in, out;
	size_t sending; /* bytes of `out` passed to psk_write(); 0: none */
	char peer[SOCK_ADDRESS_SIZE];
	struct error why;
};

/* Owns fd, also when it fails: then it is over at once. Never NULL. */
struct line *line_new(struct psk *psk, int fd, const char *peer, int64_t now);
void line_free(struct line *l); /* NULL is fine */

uint32_t line_events(const struct line *l); /* of epoll(7); never none */
/* -1 ends the line. Not called for MESSAGE_BEAT. */
typedef int line_take(void *ctx, struct line *l, const struct message *m,
		      struct error *err);
/* The descriptor may be ready: read, write. *ret_opened: it has just become open. */
void line_step(struct line *l, line_take *take, void *ctx, bool *ret_opened, int64_t now);
void line_send(struct line *l, const struct message *m, int64_t now);
/* In as many messages as that takes: at most line_room() bytes. len 0: one message. */
void line_send_data(struct line *l, uint32_t id, const void *data, size_t len,
		    int64_t now);
size_t line_room(const struct line *l); /* 0 if it is not open */
/* Send a beat when it is due; end a line that is silent. */
void line_tick(struct line *l, int64_t now);
int64_t line_until(const struct line *l); /* when line_tick() is due */
void line_end(struct line *l, enum error_kind kind, const char *why);

#endif
