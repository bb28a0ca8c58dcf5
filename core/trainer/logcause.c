/* logcause.c - find causes of failures in log lines (trainer/logcause.h). */
#include "trainer/logcause.h"

#include <string.h>

#define GPU_FULL "the GPU's memory is full: use a smaller batch, or more GPUs"
#define NCCL_LOST                                                             \
	"NCCL could not reach a peer, or a peer failed: set NCCL_DEBUG=INFO " \
	"in env for details"
#define PEER_LEFT "a peer closed its connection: check the logs of the other ranks"
#define NO_NAME                                                                     \
	"cannot resolve the name of a peer: its pod has not started, or the job's " \
	"headless Service or DNS does not answer"
#define NO_RENDEZVOUS                                                                 \
	"the ranks did not find each other in time: check that all nodes are up and " \
	"can reach node 0 and its port"

/* Best explanation first: of two that are present, the earlier one is reported. */
static const struct log_cause causes[] = {
	{ "ModuleNotFoundError: No module named '", '\'',
	  "Python module %s is not installed for the interpreter that ran", false },
	{ "CUDA out of memory", 0, GPU_FULL, false },
	{ "OutOfMemoryError", 0, GPU_FULL, false },
	{ "MemoryError", 0, "the process ran out of memory: use a smaller batch", false },
	{ "No space left on device", 0, "a disk is full", false },
	{ "ddress already in use", 0,
	  "another process listens on the port that the script uses", false },
	{ "NCCL error", 0, NCCL_LOST, true },
	{ "ncclInternalError", 0, NCCL_LOST, true },
	{ "ncclSystemError", 0, NCCL_LOST, true },
	{ "ncclRemoteError", 0, NCCL_LOST, true },
	{ "connectFullMesh failed", 0,
	  "gloo could not reach a peer: another rank ended early, or GLOO_SOCKET_IFNAME "
	  "names a missing interface",
	  true },
	{ "Connection closed by peer", 0, PEER_LEFT, true },
	{ "Connection reset by peer", 0, PEER_LEFT, true },
	{ "Connection refused", 0,
	  "the peer does not listen: check the logs of the other ranks", true },
	{ "Name or service not known", 0, NO_NAME, false },
	{ "Temporary failure in name resolution", 0, NO_NAME, false },
	{ "RendezvousTimeoutError", 0, NO_RENDEZVOUS, true },
	{ "client socket has failed to connect", 0, NO_RENDEZVOUS, true },
	{ "client socket has timed out", 0, NO_RENDEZVOUS, true },
	{ "Watchdog caught collective operation timeout", 0,
	  "a rank did not join a collective operation in time: it hangs, is slow or has "
	  "ended",
	  true },
};
enum { N_CAUSES = sizeof(causes) / sizeof(*causes) };

/*
 * Jobs write hundreds of megabytes, so a line is scanned once: each text has one of these
 * characters, which most lines do not have.
 */
static const unsigned char marks[256] = {
	['E'] = 1,  ['C'] = 2,  ['N'] = 4,  ['F'] = 8,
	['T'] = 16, ['W'] = 32, ['y'] = 64, ['k'] = 128,
};

static unsigned marks_in(const char *line, size_t len)
{
	unsigned present = 0;

	for (size_t i = 0; i < len; i++)
		present |= marks[(unsigned char)line[i]];
	return present;
}

/* The first mark in the text. */
static size_t mark_of(const char *text)
{
	size_t at = 0;

	while (text[at] && !marks[(unsigned char)text[at]])
		at++;
	return at;
}

/* As memmem(), but search for the mark first. */
static const char *find(const char *line, size_t len, const char *text)
{
	size_t at = mark_of(text), size = strlen(text);
	const char *end = line + len, *p;

	if (size > len)
		return NULL;
	for (p = line + at; (p = memchr(p, text[at], (size_t)(end - p))); p++)
		if ((size_t)(end - p) >= size - at && !memcmp(p - at, text, size))
			return p - at;
	return NULL;
}

const struct log_cause *log_cause_of(const char *line, size_t len, const char **ret_word,
				     size_t *ret_len)
{
	unsigned present = marks_in(line, len);

	for (size_t i = 0; present && i < N_CAUSES; i++) {
		const struct log_cause *c = &causes[i];
		const char *at, *end;

		if (!(present & marks[(unsigned char)c->text[mark_of(c->text)]]))
			continue;
		at = find(line, len, c->text);
		if (!at)
			continue;
		*ret_word = at + strlen(c->text);
		end = c->until ? memchr(*ret_word, c->until,
					len - (size_t)(*ret_word - line))
			       : *ret_word;
		if (!end)
			continue;
		*ret_len = (size_t)(end - *ret_word);
		return c;
	}
	return NULL;
}

bool log_is_exception(const char *line, size_t len)
{
	static const char *const launchers[] = { "ChildFailedError", "SignalException",
						 "torch.distributed.elastic" };

	if (!find(line, len, "Error: ") && !find(line, len, "Exception: "))
		return false;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++)
		if (memmem(line, len, launchers[i], strlen(launchers[i])))
			return false;
	return true;
}

void log_cause_hint(struct buf *out, const struct log_cause *c, const char *word)
{
	const char *place = c->until ? strstr(c->hint, "%s") : NULL;

	if (!place)
		return buf_adds(out, c->hint);
	buf_add(out, c->hint, (size_t)(place - c->hint));
	buf_adds(out, word);
	buf_adds(out, place + 2);
}
