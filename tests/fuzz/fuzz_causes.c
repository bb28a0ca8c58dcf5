/*
 * Lines of training processes, and what an API server says of a refusal: a cause and its
 * word are within its line, and it has a hint; and a filter of tracebacks passes on lines
 * that it was given, in their order, what comes after them too.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/permission.h"
#include "logtext/logcause.h"
#include "logtext/lognoise.h"
#include "logtext/traceback.h"
#include "tests/fuzz/fuzz.h"

enum { PROCESSES = 2, MAX_BYTES = 1 << 16 };

/* The lines of a process that the filter has not passed on yet. */
struct process {
	const char *name, *at, *end;
	bool last; /* its last line has been passed on */
};

static void check_cause(struct log_reader *r, const char *line, size_t len)
{
	cleanup_buf struct buf hint = { .max = MAX_BYTES };
	bool better;
	const struct log_cause *c = log_read(r, line, len, &better);

	log_is_exception(line, len);
	if (!c)
		return;
	/* NCCL's last error is on the line after that text. */
	FUZZ_CHECK(memmem(line, len, c->text, strlen(c->text)) ||
		   str_eq(c->text, "Last error:"));
	FUZZ_CHECK(r->cause && (!better || r->cause == c));
	FUZZ_CHECK(!better || memmem(line, len, r->word, strlen(r->word)));
	log_hint(&hint, r);
	FUZZ_CHECK(hint.len);
}

static void check_permission(struct arena *arena, const char *text)
{
	struct permission p;

	if (!permission_read(arena, text, &p))
		return;
	FUZZ_CHECK(p.user && p.verb && p.resource && p.group);
	FUZZ_CHECK(*permission_what(arena, &p) && *permission_check(arena, &p));
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	const size_t folded = strlen(TRACEBACK_FOLDED);
	struct process *p = ctx;
	size_t bare;

	while (!str_eq(p->name, prefix))
		p++;
	bare = len > folded && !memcmp(line + len - folded, TRACEBACK_FOLDED, folded)
		       ? len - folded
		       : len;
	/* The line is one of those that are left; those before it were left out. */
	while (p->at < p->end) {
		size_t n = strcspn(p->at, "\n");
		const char *at = p->at;

		p->at += n + 1;
		if ((n == len || n == bare) && !memcmp(at, line, n)) {
			p->last = p->at >= p->end;
			return;
		}
	}
	FUZZ_CHECK(!"a line that was not given");
}

/* Without lines of other processes, "[rank0]: ", and with a last line of its own. */
static const char *of_one_process(struct arena *arena, const char *text)
{
	cleanup_buf struct buf b = { .max = 2 * MAX_BYTES };

	for (const char *at = text; *at; at += *at == '\n') {
		size_t n = strcspn(at, "\n"), bare = n;

		if (traceback_unranked(at, &bare) == at)
			buf_printf(&b, "%.*s\n", (int)n, at);
		at += n;
	}
	buf_adds(&b, "end");
	return arena_strdup(arena, (const char *)b.data);
}

/* The same text each; lines alternate. */
static void check_tracebacks(const char *text, size_t len)
{
	struct process all[PROCESSES] = {
		{ .name = "a", .at = text, .end = text + len },
		{ .name = "b", .at = text, .end = text + len },
	};
	struct traceback_filter *f = traceback_new(on_line, all);
	const char *at = text;
	int64_t now = 0;

	for (; at < text + len; now += 100) {
		size_t n = strcspn(at, "\n");

		for (int i = 0; i < PROCESSES; i++)
			traceback_line(f, all[i].name, at, n, now);
		at += n + 1;
		if (now % 700 == 0)
			traceback_flush(f, now - TRACEBACK_WAIT_MS);
	}
	traceback_flush(f, now + TRACEBACK_WAIT_MS);
	FUZZ_CHECK(traceback_wake_ms(f) < 0);
	traceback_free(f);
	/* Nothing is held: the last line, which belongs to no traceback, has come. */
	for (int i = 0; i < PROCESSES; i++)
		FUZZ_CHECK(all[i].last || !len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	struct log_reader reader = { 0 };
	struct lognoise_state noise = { 0 };
	const char *text;

	if (size > MAX_BYTES)
		return 0;
	text = str_slice(&arena, (const char *)data, size);
	check_permission(&arena, text);
	for (const char *at = text; *at; at += strspn(at, "\n")) {
		size_t n = strcspn(at, "\n");

		check_cause(&reader, at, n);
		(void)lognoise_is(&noise, at, n);
		at += n;
	}
	text = of_one_process(&arena, text);
	check_tracebacks(text, strlen(text));
	return 0;
}
