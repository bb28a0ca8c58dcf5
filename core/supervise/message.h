/*
 * message.h - encode and decode the messages between the supervisors of a job.
 *
 * The supervisors of ranks 1, 2, ... connect to that of rank 0, the hub, over TLS with
 * the job's key. A message consists of the length of the rest (1 byte), its type (1
 * byte), its numbers (32 bits each, in network order) and, in STACK and DATA, bytes.
 * Sent by a peer (P), the hub (H) or both:
 *
 *   HELLO      P  the first message: version, rank, number of ranks
 *   STATE      P  the state of its command: the second message, and after each change
 *   ORDER      H  after each change, and to each rank that joins
 *   KEEPALIVE     empty; sent by each end that has sent nothing for a while
 *   REFUSED    H  enum message_refusal. The last message.
 *   ACTIVITY   P  there was output or progress; at most one message a second
 *   STACK      P  a piece of a process's stack, after ORDER_DUMP; an empty piece ends it
 *   DUMPED     P  all its stacks are sent
 *   DATA          a piece of a rerun (supervise/dev.h) with the number `who`; empty: its end
 *
 * A state or an order does not depend on earlier ones: only the last one matters.
 *
 * No I/O.
 */
#ifndef SUPERVISE_MESSAGE_H
#define SUPERVISE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum {
	MESSAGE_VERSION = 2,
	MESSAGE_MAX = 250,  /* bytes of a message, with its length */
	MESSAGE_TEXT = 200, /* of them text */
	MESSAGE_RANKS = 100000,
	MESSAGE_EPOCHS = 1000000000,
	MESSAGE_TOKEN = 4, /* numbers */
};

enum message_type {
	MESSAGE_HELLO = 1,
	MESSAGE_STATE,
	MESSAGE_ORDER,
	MESSAGE_KEEPALIVE,
	MESSAGE_REFUSED,
	MESSAGE_ACTIVITY,
	MESSAGE_STACK,
	MESSAGE_DUMPED,
	MESSAGE_DATA,
};

enum message_refusal { REFUSED_VERSION = 1, REFUSED_RANK };

/* An epoch is the number of earlier starts: KFTRAINER_RESTART. */
enum peer_phase {
	PEER_NEW,     /* the supervisor has just started */
	PEER_READY,   /* no process of earlier epochs is left */
	PEER_RUNNING, /* in this epoch */
	PEER_ENDED,   /* in this epoch, with `status` */
};
/* Why a command failed. */
enum peer_cause {
	CAUSE_UNKNOWN,
	CAUSE_PERMANENT, /* a restart would fail the same way */
	CAUSE_MEMORY,    /* out of memory: so would a restart, at the same step */
	CAUSE_FINISH, /* rank 0: all have succeeded, but struct supervise_finish failed */
};
struct peer_state {
	enum peer_phase phase;
	uint32_t epoch;
	uint32_t counted; /* of the last order */
	uint32_t status;  /* the exit code, as in sh(1): 128 + signal */
	enum peer_cause cause;
	bool leaving;   /* the pod is being stopped */
	uint32_t acked; /* the last sync of the hub that the rank has acknowledged */
};
bool message_same_state(const struct peer_state *a, const struct peer_state *b);
/* The maxima of the command's reports in this start. */
struct peer_activity {
	uint32_t epoch;
	uint32_t reports, percent, step;
};
enum { NO_RANK = UINT32_MAX };
struct peer_stack {
	uint32_t who; /* RANK in its environment; NO_RANK: not set */
	uint32_t len;
	const char *text; /* in a decoded message it points into the input */
};

enum order {
	ORDER_STOP = 1, /* end all processes of earlier epochs; then be READY */
	ORDER_START,    /* the command, if READY in this epoch */
	ORDER_FREE,     /* the last order: end with the command */
	ORDER_DUMP,     /* send the stacks of the processes, and end them by ABRT */
};
struct hub_order {
	enum order order;
	uint32_t epoch, counted;
	uint32_t token[MESSAGE_TOKEN]; /* of the tracker, for all commands; zeros: none */
	uint32_t attempt, sync;        /* of the run directory (runs/runs.h); or 0 */
};

struct message {
	enum message_type type;
	union {
		struct {
			uint32_t version, rank, ranks;
		} hello;
		struct peer_state state;
		struct hub_order order;
		enum message_refusal refusal;
		struct peer_activity activity;
		struct peer_stack stack; /* also of DATA, whose text is binary */
	};
};

void message_add(struct buf *out, const struct message *m);

/*
 * Decode the first message of `len` bytes. *ret_used: its size; 0 if it is incomplete.
 * ERR_FORMAT: an unknown type, a wrong length, a number out of range. Of a HELLO of another
 * version, only the version is decoded.
 */
MUST_CHECK int message_decode(struct message *ret, size_t *ret_used, const void *data,
			      size_t len, struct error *err);

#endif
