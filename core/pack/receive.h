/*
 * receive.h - bring the files of a directory to what a manifest says: ask for those that
 * differ, stage them in PACK_RECEIVED, and then put all in place at once.
 *
 * The sender's bytes are frames: a type, the length of the rest (4 bytes in network order)
 * and the rest. In this order:
 *
 *   M  a piece of the manifest          F  the number of a file in it (4 bytes)
 *   A  arguments, each with a NUL       D  a piece of that file
 *   B  begin: the manifest is complete  G  all has been sent
 *
 * The receiver answers by packets: a type and the rest.
 *
 *   N  numbers of files that it needs (4 bytes each); E  these were all
 *   K  all is staged; !  it failed, for this reason
 *
 * Files that are sent but not needed are skipped: several receivers can get one stream.
 */
#ifndef PACK_RECEIVE_H
#define PACK_RECEIVE_H

#include "pack/manifest.h"

enum {
	FRAME_HEADER = 5,
	FRAME_MAX = 32 * 1024, /* the rest of a frame */
	RECEIVE_ANSWER = 200,  /* a packet, at most; of supervisors: MESSAGE_TEXT */
	RECEIVE_ARGS = 16 * 1024,
};

struct receive_frame {
	char type;
	const unsigned char *data;
	size_t len;
};

void receive_header(unsigned char ret[FRAME_HEADER], char type, size_t len);
/* The first frame of `len` bytes; *ret_used 0: it is incomplete. ERR_FORMAT: too long. */
MUST_CHECK int receive_next(struct receive_frame *ret, size_t *ret_used, const void *data,
			    size_t len, struct error *err);
uint32_t receive_number(const unsigned char *p); /* 4 bytes */

struct received {
	const char *dir;
	int fd;      /* a socket of packets: what the sender wrote, in any pieces */
	bool staged; /* everything */
	struct manifest manifest;
	bool *needed; /* for each of its entries: it is staged under its number */
	struct buf args;
	/* private */
	struct buf text;
	struct digest *digest;
	int root, stage, file;
	int64_t number, left;
};

/*
 * Receive until the other end closes; blocks. Nothing but PACK_RECEIVED is changed, and
 * only the user of this process can read what is there.
 */
void receive_run(struct received *r);

/*
 * Put the staged files in place, each by rename(2), and remove those that an earlier
 * manifest, or the archive of unpack_folder(), had and this one has not. Links are
 * replaced, not followed. A file that takes another's place is at least a second newer:
 * Python compares whole seconds and the size.
 */
MUST_CHECK int receive_swap(struct received *r, struct error *err);
void receive_release(struct received *r); /* removes what is staged */

#endif
