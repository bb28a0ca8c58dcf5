/*
 * message.h - encode and decode the messages between the supervisors of a job.
 *
 * The supervisors of ranks 1, 2, ... connect to that of rank 0, the hub, over TLS with
 * the job's key. A message is the length of the rest (1 byte), its type (1 byte) and its
 * numbers, 32 bits each in network order. From a peer (P) or the hub (H):
 *
 *   HELLO    P  the first: version, rank, number of ranks
 *   STATE    P  what its command does; the second, and after each change
 *   ORDER    H  what all are to do; after each change, and to each that joins
 *   BEAT        nothing; each end sends one when it has sent nothing for a while
 *   REFUSED  H  enum message_refusal. The last message.
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
	MESSAGE_VERSION = 1,
	MESSAGE_MAX = 64, /* bytes, with the length */
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
};

enum message_refusal { REFUSED_VERSION = 1, REFUSED_RANK };

/* An epoch is the number of starts before: KFTRAINER_RESTART. */
enum peer_phase {
	PEER_NEW,     /* its supervisor has just started */
	PEER_READY,   /* no process is left of the epochs before this one */
	PEER_RUNNING, /* in this epoch */
	PEER_ENDED,   /* in this epoch, with `status` */
};
struct peer_state {
	enum peer_phase phase;
	uint32_t epoch;
	uint32_t counted; /* the restarts that count, as the hub has told */
	uint32_t status;  /* as a shell has it: 128 + signal */
	bool permanent;   /* another start would end the same */
	bool leaving;     /* its pod is being stopped */
};

enum order {
	ORDER_STOP = 1, /* end all processes of the epochs before; then be READY */
	ORDER_START,    /* the command, if READY in this epoch */
	ORDER_FREE,     /* no more orders will come: end with the command */
};
struct hub_order {
	enum order order;
	uint32_t epoch, counted;
	uint32_t token[MESSAGE_TOKEN]; /* rank 0's, for all commands; zeros: none */
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
