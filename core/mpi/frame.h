/*
 * frame.h - the protocol between mpi-launch and mpi-worker: encode and decode frames.
 *
 * A connection (TLS with the job's key) runs one command. A frame is a type byte, the
 * length of its contents as 32 bits in network order, at most 64 KiB, and the contents.
 * From launch (L) or worker (W):
 *
 *   COMMAND  L  the first: version (1 byte), length of the command (32 bits), then its
 *               first bytes; further COMMAND frames hold the rest
 *   STDIN    L  bytes           STDOUT, STDERR  W  bytes
 *   END         one byte: the stream (its frame type) that has ended
 *   CREDIT      the stream (1 byte), and how many bytes more may be sent on it (32 bits)
 *   SIGNAL   L  one byte: a signal's number, for the command's process group
 *   EXIT     W  a byte, enum frame_exit, and 32 bits: status or signal. The last frame.
 *
 * A sender may send FRAME_WINDOW bytes on each stream, and then as many as CREDIT grants:
 * a slow reader stops the writer of its stream and no other.
 *
 * No I/O.
 */
#ifndef MPI_FRAME_H
#define MPI_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum frame_type {
	FRAME_COMMAND = 1,
	FRAME_STDIN,
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_END,
	FRAME_CREDIT,
	FRAME_SIGNAL,
	FRAME_EXIT,
};
enum frame_exit { FRAME_EXITED, FRAME_KILLED };

enum {
	FRAME_VERSION = 1,
	FRAME_HEADER = 5,
	FRAME_MAX = 64 * 1024,
	FRAME_WINDOW = 256 * 1024,
	FRAME_COMMAND_MAX = 120 * 1024,
};

struct frame {
	enum frame_type type;
	const unsigned char *data; /* points into the decoded data */
	uint32_t len;
};

/*
 * Decode the first frame of `len` bytes. *ret_used is its size, 0 if incomplete.
 * ERR_FORMAT: an unknown type, or an invalid length for the type.
 */
MUST_CHECK int frame_decode(struct frame *ret, size_t *ret_used, const void *data,
			    size_t len, struct error *err);

/* len at most FRAME_MAX. */
void frame_add(struct buf *out, enum frame_type type, const void *data, size_t len);
void frame_add_command(struct buf *out, const char *command);
void frame_add_end(struct buf *out, enum frame_type stream);
void frame_add_credit(struct buf *out, enum frame_type stream, uint32_t n);
void frame_add_signal(struct buf *out, int signum);
void frame_add_exit(struct buf *out, enum frame_exit how, uint32_t code);

/* The stream of an END or a CREDIT. */
enum frame_type frame_stream(const struct frame *f);
/* The number in a CREDIT or an EXIT; the signal in a SIGNAL. */
uint32_t frame_number(const struct frame *f);

/*
 * Collect the command of COMMAND frames. *ret_done: `text` is complete. ERR_UNSUPPORTED:
 * another version; ERR_LIMIT: too long; ERR_FORMAT: more bytes than announced, or a NUL.
 */
struct frame_command {
	struct buf text; /* .max: FRAME_COMMAND_MAX */
	uint32_t announced;
	bool begun;
};
MUST_CHECK int frame_take_command(struct frame_command *c, const struct frame *f,
				  bool *ret_done, struct error *err);

#endif
