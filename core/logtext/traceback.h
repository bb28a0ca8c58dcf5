/*
 * traceback.h - show one traceback per failure.
 *
 * When a rank fails, every other rank raises the same error, or one that blames the lost
 * peer, and a launcher reports each with a traceback of its own. Only the last line, which
 * names the error, is passed on of a traceback (Python's, also behind PyTorch's "[rank0]: ")
 * whose error was shown within TRACEBACK_TOGETHER_MS, of one that blames a peer, and of a
 * launcher's; after one that blames a peer comes TRACEBACK_FOLDED. What follows of such an
 * error, C++ frames or a chained exception, is folded with it. The lines of a traceback are
 * held back until its last line, at most TRACEBACK_WAIT_MS and TRACEBACK_MAX bytes. All
 * other lines are passed on at once. Log files have every line.
 */
#ifndef LOGTEXT_TRACEBACK_H
#define LOGTEXT_TRACEBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRACEBACK_TOGETHER_MS = 15000,
	TRACEBACK_WAIT_MS = 3000,
	TRACEBACK_MAX = 65536,
	TRACEBACK_NAME_MAX = 4096,
	TRACEBACK_MARK_MAX = 16,  /* of a rank or process, "[rank0]: " */
	TRACEBACK_STREAMS = 4096, /* processes; tracebacks of more are passed on */
};

#define TRACEBACK_FOLDED " (traceback folded: logs --raw)"

struct first_error;
struct traceback_filter;

struct traceback_filter *traceback_new(void (*on_line)(void *ctx, const char *prefix,
						       const char *line, size_t len),
				       void *ctx);
void traceback_free(struct traceback_filter *f);

/* Have tracebacks been folded that blame a peer? */
bool traceback_any_folded(const struct traceback_filter *f);

/* A line of the process that `prefix` names. */
void traceback_line(struct traceback_filter *f, const char *prefix, const char *line,
		    size_t len, int64_t now_ms);

/*
 * The error that ended a process first (logtext/firsterror.h), of all; NULL if there is
 * none. *ret_prefix: its process. Both are valid until the next line.
 */
const struct first_error *traceback_first(const struct traceback_filter *f,
					  const char **ret_prefix);

/*
 * When to call traceback_flush(), in the clock of traceback_line(); -1: no lines are
 * held.
 */
int64_t traceback_wake_ms(const struct traceback_filter *f);
/* Pass on lines held since before `before_ms`. */
void traceback_flush(struct traceback_filter *f, int64_t before_ms);

/*
 * The line without "[rank0]: ", which PyTorch puts in front of the lines of a traceback,
 * and without "[default0]:", torchrun's mark of a process (--tee).
 */
const char *traceback_unranked(const char *line, size_t *len);

/*
 * A line of a traceback or a warning that names the copy of a script which its pod runs
 * (spec/script.h), "/tmp/kftrainer-Xy1z2A/train.py", with the script's own name, in `room`;
 * other lines as they are.
 */
const char *traceback_named(const char *line, size_t *len, char *room, size_t size);

/* Is this the first line of a traceback; a line within one, but not the last? */
bool traceback_begins(const char *line, size_t len);
/*
 * Does this first line begin a traceback within another error's text: "Original Traceback
 * (most recent call last):", "Traceback (most recent call last): (RANK 0)"?
 */
bool traceback_is_nested(const char *line, size_t len);
bool traceback_continues(const char *line, size_t len);

#endif
