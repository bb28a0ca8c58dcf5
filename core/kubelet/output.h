/*
 * output.h - write a container's output to its log file, and split it into lines.
 *
 * The file gets every byte as it was written. Lines go to a callback without their
 * newline, as a terminal would show them (base/screen.h): of a progress bar, the final
 * state. A line longer than OUTPUT_MAX_LINE is cut there and its rest dropped. If the
 * file cannot be written (full disk), a line to the callback reports it; every 10 seconds
 * it is tried again, and then a line in the file says how many bytes are missing there;
 * at the end it takes the place of the last 100 bytes if there is still no room.
 * The container never waits for the disk. A file of marks beside it may record when each
 * piece was read (struct output_mark).
 */
#ifndef KUBELET_OUTPUT_H
#define KUBELET_OUTPUT_H

#include <stdint.h>

#include "base/screen.h"

enum { OUTPUT_MAX_LINE = 65536 };

/* In the machine's byte order. Readers ignore an incomplete last record. */
struct output_mark {
	int64_t offset;  /* of the log */
	int64_t time_ns; /* since 1970 */
	int64_t begins;  /* 1: here the container (re)starts */
};

struct output {
	int fd; /* -1: closed, also after a failure */
	const char *path;
	const char *marks_path; /* NULL: no marks; must outlive the output */
	int marks;              /* -1: none */
	int64_t size;           /* of the file */
	int64_t lost;           /* bytes that are missing at its end */
	int64_t retry_at;       /* of clock_ms(), while some are */
	struct screen screen;
	bool unended; /* the file's last byte is no newline */
	void (*on_line)(void *ctx, const char *line, size_t len);
	/* An unfinished line, after the lines before it; `bar`: it replaces a state of it. */
	void (*on_state)(void *ctx, const char *line, size_t len, bool bar);
	void *ctx;
};

/* Open for appending, 0600. `path` must outlive the output. */
MUST_CHECK int output_open(struct output *o, const char *path, struct error *err);
/* The container wrote these bytes: append them to the file, report each complete line. */
void output_add(struct output *o, const char *data, size_t len);

/* The container has ended: a line without newline is a line, too. */
void output_close(struct output *o);

#endif
