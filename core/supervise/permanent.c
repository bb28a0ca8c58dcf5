/* permanent.c - the last exception of an output (supervise/permanent.h). */
#include "supervise/permanent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#define EVENTS "/sys/fs/cgroup/memory.events"

static const char *const causes[] = { "SyntaxError", "IndentationError", "ImportError",
				      "ModuleNotFoundError" };

/* Messages of the interpreter and of argparse: the command line is wrong. */
static const char *const phrases[] = {
	": can't open file '", ": error: unrecognized arguments: ",
	": error: the following arguments are required: "
};

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* The length of the exception's name with which a line begins; 0: there is none. */
static size_t exception(const char *line, size_t len)
{
	size_t n = 0;

	while (n < len &&
	       (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '.'))
		n++;
	if (n < len && line[n] != ':')
		return 0;
	return (ends_with(line, n, "Error") || ends_with(line, n, "Exception")) &&
			       !ends_with(line, n, "ChildFailedError")
		       ? n
		       : 0;
}

/* Past "[rank0]: ", which PyTorch puts before the lines of a traceback. */
static size_t prefix(const char *line, size_t len)
{
	const char *end =
		len > 5 && !memcmp(line, "[rank", 5) ? memchr(line, ']', len) : NULL;

	return end && end + 3 <= line + len && !memcmp(end, "]: ", 3)
		       ? (size_t)(end + 3 - line)
		       : 0;
}

static bool is_permanent(const char *name, size_t len)
{
	for (size_t i = 0; i < N_ELEMENTS(causes); i++)
		if (strlen(causes[i]) == len && !memcmp(name, causes[i], len))
			return true;
	return false;
}

static bool has_phrase(const char *line, size_t len)
{
	for (size_t i = 0; i < N_ELEMENTS(phrases); i++)
		if (memmem(line, len, phrases[i], strlen(phrases[i])))
			return true;
	return false;
}

/* "torch.OutOfMemoryError", "MemoryError", "RuntimeError: CUDA error: out of memory" */
static bool is_memory(const char *line, size_t len, size_t name)
{
	static const char text[] = "ut of memory";

	return ends_with(line, name, "MemoryError") ||
	       memmem(line, len, text, sizeof(text) - 1);
}

enum peer_cause permanent_cause(const char *text, size_t len)
{
	enum peer_cause cause = CAUSE_UNKNOWN;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		size_t skip = prefix(text + at, n);
		const char *line = text + at + skip;
		size_t name = exception(line, n - skip);

		if (name)
			cause = is_permanent(line, name)          ? CAUSE_PERMANENT
				: is_memory(line, n - skip, name) ? CAUSE_MEMORY
								  : CAUSE_UNKNOWN;
		else if (has_phrase(line, n - skip))
			cause = CAUSE_PERMANENT;
		at += n + 1;
	}
	return cause;
}

int64_t permanent_oom_kills(const char *events)
{
	static const char key[] = "\noom_kill ";
	const char *at = strstr(events, key);

	return at ? strtoll(at + sizeof(key) - 1, NULL, 10) : 0;
}

int64_t permanent_oom_kills_here(void)
{
	cleanup_buf struct buf events = { .max = 4096 };

	return file_read(&events, EVENTS, IGNORED) || !events.len
		       ? 0
		       : permanent_oom_kills((const char *)events.data);
}
