/*
 * message.h - encode and decode the messages between the supervisors of a job.
 *
 * The supervisors of ranks 1, 2, ... connect to that of rank 0, the hub, over TLS with
 * the job's key. A message consists of the length of the rest (1 byte), its type (1
 * byte), its numbers (32 bits each, in network order) and, in STACK and DATA, bytes.
 * Sent by a peer (P), the hub (H) or both:
 *
 *   HELLO    P  the first: version, rank, number of ranks
 *   STATE    P  what its command does; the second, and after each change
 *   ORDER    H  what all are to do; after each change, and to each that joins
 *   BEAT        nothing; each end sends one when it has sent nothing for a while
 *   REFUSED  H  enum message_refusal. The last message.
 *   SIGN     P  there was output or progress; at most one in a second
 *   STACK    P  a piece of a process's stack, after ORDER_DUMP; an empty piece ends it
 *   DUMPED   P  all of its stacks are sent
 *   DATA        a piece of a rerun (supervise/dev.h) of the number `who`; empty: its end
 *
 * States and orders are whole: an end that has missed some needs only the last one.
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
	MESSAGE_MAX = 250,  /* bytes, with the length */
	MESSAGE_TEXT = 200, /* of them text */
	MESSAGE_RANKS = 100000,
	MESSAGE_EPOCHS = 1000000000,
	MESSAGE_TOKEN = 4, /* numbers */
};

enum message_type {
	MESSAGE_HELLO = 1,
	MESSAGE_STATE,
	MESSAGE_ORDER,
	MESSAGE_BEAT,
	MESSAGE_REFUSED,
	MESSAGE_SIGN,
	MESSAGE_STACK,
	MESSAGE_DUMPED,
	MESSAGE_DATA,
};

enum message_refusal { REFUSED_VERSION = 1, REFUSED_RANK };

/* An epoch is the number of starts before: KFTRAINER_RESTART. */
enum peer_phase {
	PEER_NEW,     /* its supervisor has just started */
	PEER_READY,   /* no process is left of the epochs before this one */
	PEER_RUNNING, /* in this epoch */
	PEER_ENDED,   /* in this epoch, with `status` */
};
/* Would another start end the same? */
enum peer_cause {
	CAUSE_UNKNOWN,
	CAUSE_PERMANENT, /* a restart would fail again */
	CAUSE_MEMORY,    /* a restart would, out of memory at the same step */
	CAUSE_FINISH,    /* rank 0's: all have succeeded, and what follows has failed */
};
struct peer_state {
	enum peer_phase phase;
	uint32_t epoch;
	uint32_t counted; /* the restarts that count, as the hub has told */
	uint32_t status;  /* as a shell has it: 128 + signal */
	enum peer_cause cause;
	bool leaving;   /* its pod is being stopped */
	uint32_t acked; /* the last of the hub's syncs that it has answered */
};
bool message_same_state(const struct peer_state *a, const struct peer_state *b);
/* The highest values that the command has reported in this start. */
struct peer_sign {
	uint32_t epoch;
	uint32_t reports, percent, step;
};
enum { NO_RANK = UINT32_MAX };
struct peer_stack {
	uint32_t who; /* RANK of its environment; NO_RANK: none */
	uint32_t len;
	const char *text; /* of a decoded message: within its bytes */
};

enum order {
	ORDER_STOP = 1, /* end all processes of the epochs before; then be READY */
	ORDER_START,    /* the command, if READY in this epoch */
	ORDER_FREE,     /* no more orders will come: end with the command */
	ORDER_DUMP,     /* show where the processes are, and end them by ABRT */
};
struct hub_order {
	enum order order;
	uint32_t epoch, counted;
	uint32_t token[MESSAGE_TOKEN]; /* rank 0's, for all commands; zeros: none */
	uint32_t attempt, sync;        /* of the run directory (supervise/run.h); or 0 */
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
		struct peer_sign sign;
		struct peer_stack stack; /* of DATA, too, whose text is any bytes */
	};
};

void message_add(struct buf *out, const struct message *m);

/*
 * Decode the first message of `len` bytes. *ret_used is its size, 0 if incomplete.
 * ERR_FORMAT: an unknown type, a wrong length, a number out of its range. A HELLO of
 * another version has only that number, whatever follows it.
 */
MUST_CHECK int message_decode(struct message *ret, size_t *ret_used, const void *data,
			      size_t len, struct error *err);

#endif
