/* report.c - find the rank that failed first, and the cause (local/report.h). */
#include "local/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/screen.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/kubelet.h"
#include "logtext/firsterror.h"
#include "logtext/logcause.h"
#include "logtext/lognoise.h"
#include "logtext/traceback.h"
#include "trainer/jobset.h"
#include "trainer/podname.h"

/* A line further from the end than this is not the cause. */
enum { CAUSE_LINES = 200, REPORT_COLOURED = 4096, REPORT_PROCESSES = 64 };

/* ---- containers and ranks -------------------------------------------------------- */

struct kept_line {
	char *text;
	size_t cap;
};

struct stream {
	char *prefix;
	char *pod, *container;
	struct kept_line lines[REPORT_LINES]; /* a ring */
	size_t n;                             /* written so far */
	struct log_reader reader;
	size_t cause_at;   /* value of n at the line of its cause */
	struct map errors; /* mark of a process, "[rank0]: " -> struct first_error */
	int64_t ends;      /* restarts of the container that were processed */
	bool ended;
	struct lognoise_state noise;
};

struct failure {
	char *prefix; /* the rank, over restarts and replacements */
	char *what;   /* "exit code 3" */
	char *error, *hint, *lines;
	bool traceback; /* `lines` are one, with a headline in place of its first line */
	int code;
	bool victim; /* its output blames the end of a peer */
	char *cause; /* the peer, if it raised an error; error and lines are its own */
	int64_t cause_ms;
	int64_t at_ms;
};

struct report {
	const cJSON *jobset;
	int64_t start_ms, now_ms;
	struct map streams;  /* "pod/container" */
	struct stream *last; /* wrote last, and often writes the next line, too */
	struct failure list[REPORT_FAILURES];
	size_t n;
	int port_from, port_to; /* 0: no port is mapped */
};

struct report *report_new(const cJSON *jobset, int64_t start_ms)
{
	struct report *r = xcalloc(1, sizeof(*r));

	r->jobset = jobset;
	r->start_ms = start_ms;
	return r;
}

static void error_free(void *p)
{
	first_error_forget(p);
	free(p);
}

static void stream_free(void *p)
{
	struct stream *s = p;

	for (size_t i = 0; i < REPORT_LINES; i++)
		free(s->lines[i].text);
	free(s->prefix);
	free(s->pod);
	free(s->container);
	map_release(&s->errors, error_free);
	free(s);
}

static void failure_release(struct failure *f)
{
	free(f->prefix);
	free(f->what);
	free(f->error);
	free(f->cause);
	free(f->hint);
	free(f->lines);
}

void report_restart(struct report *r)
{
	for (size_t i = 0; i < r->n; i++)
		failure_release(&r->list[i]);
	r->n = 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	report_restart(r);
	map_release(&r->streams, stream_free);
	free(r);
}

void report_mapped_port(struct report *r, int from, int to)
{
	r->port_from = from;
	r->port_to = to;
}

static struct stream *stream_of(struct report *r, const char *pod, const char *container)
{
	cleanup_arena struct arena a = { 0 };
	const char *key = arena_printf(&a, "%s/%s", pod, container);
	struct stream *s = map_get(&r->streams, key);
	struct podname place;

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->prefix = xstrdup(podname_parse(&place, r->jobset, pod)
				    ? podname_prefix(&a, &place, container)
				    : pod);
	s->pod = xstrdup(pod);
	s->container = xstrdup(container);
	map_put(&r->streams, key, s);
	return s;
}

static void keep_line(struct kept_line *l, const char *line, size_t len)
{
	len = len < REPORT_LINE_MAX ? len : REPORT_LINE_MAX;
	if (len >= l->cap) {
		l->cap = len + 64;
		l->text = xreallocarray(l->text, l->cap, 1);
	}
	memcpy(l->text, line, len);
	l->text[len] = 0;
}

static struct stream *last_stream(struct report *r, const char *pod,
				  const char *container)
{
	bool repeated = r->last && str_eq(r->last->pod, pod) &&
			str_eq(r->last->container, container);

	if (!repeated)
		r->last = stream_of(r, pod, container);
	return r->last;
}

const char *report_prefix(struct report *r, const char *pod, const char *container)
{
	return last_stream(r, pod, container)->prefix;
}

/* ---- the error ---- */

/* True: the line is one of a traceback, but not the last. */
static bool read_error(struct stream *s, const char *line, size_t len, int64_t now_ms)
{
	const char *bare = traceback_unranked(line, &len);
	bool begins = traceback_begins(bare, len) || log_is_exception(bare, len);
	char mark[TRACEBACK_MARK_MAX + 1];
	struct first_error *e;

	if (!begins && !s->errors.n)
		return false;
	snprintf(mark, sizeof(mark), "%.*s", (int)(bare - line), line);
	e = map_get(&s->errors, mark);
	if (!e && begins && s->errors.n < REPORT_PROCESSES) {
		e = xcalloc(1, sizeof(*e));
		map_put(&s->errors, mark, e);
	}
	return e && first_error_line(e, bare, len, now_ms);
}

static void keep(struct stream *s, const char *line, size_t len, int64_t now_ms)
{
	if (!lognoise_is(&s->noise, line, len) && !read_error(s, line, len, now_ms))
		keep_line(&s->lines[s->n++ % REPORT_LINES], line, len);
}

/* The one that counts most, and the mark of its process; or NULL. */
static const struct first_error *stream_error(const struct stream *s,
					      const char **ret_mark)
{
	const struct first_error *ret = NULL;

	map_each(e, &s->errors) {
		if (!first_error_before(e->value, ret))
			continue;
		ret = e->value;
		*ret_mark = e->key;
	}
	return ret;
}

/* The same; NULL, too, if it blames a peer. */
static const struct first_error *own_error(const struct stream *s)
{
	const char *mark;
	const struct first_error *ret = stream_error(s, &mark);

	return ret && !ret->peer ? ret : NULL;
}

const char *report_line(struct report *r, const char *pod, const char *container,
			const char *line, size_t len, int64_t now_ms)
{
	struct stream *s = last_stream(r, pod, container);
	char room[REPORT_COLOURED], named[TRACEBACK_NAME_MAX];
	bool better;

	line = screen_uncoloured(line, &len, room, sizeof(room));
	line = traceback_named(line, &len, named, sizeof(named));
	if (s->n - s->cause_at > CAUSE_LINES)
		log_forget(&s->reader);
	(void)log_read(&s->reader, line, len, &better);
	keep(s, line, len, now_ms);
	if (better)
		s->cause_at = s->n;
	return s->prefix;
}

void report_forget(struct report *r, const char *pod)
{
	r->last = NULL;
	map_each(e, &r->streams) {
		const char *rest = str_after(e->key, pod);

		if (rest && *rest == '/')
			stream_free(map_del(&r->streams, e->key));
	}
}

/* ---- exits ----------------------------------------------------------------------- */

static const char *signal_name(int sig)
{
	static const struct {
		int sig;
		const char *name;
	} names[] = {
		{ SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" },
		{ SIGILL, "SIGILL" },   { SIGTRAP, "SIGTRAP" }, { SIGABRT, "SIGABRT" },
		{ SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },   { SIGKILL, "SIGKILL" },
		{ SIGSEGV, "SIGSEGV" }, { SIGPIPE, "SIGPIPE" }, { SIGALRM, "SIGALRM" },
		{ SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" }, { SIGTERM, "SIGTERM" },
		{ SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" }, { SIGSYS, "SIGSYS" },
	};

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (names[i].sig == sig)
			return names[i].name;
	return "a signal";
}

static const cJSON *spec_of(const struct report *r, const char *pod,
			    const char *container)
{
	static const char *const lists[] = { "initContainers", "containers" };
	struct podname place;

	if (!podname_parse(&place, r->jobset, pod))
		return NULL;
	for (int i = 0; i < 2; i++) {
		const cJSON *spec = rjob_pod_spec_const(place.rjob);
		const cJSON *c = json_find_const(json_at(spec, JSON_PATH(lists[i])),
						 "name", container);

		if (c)
			return c;
	}
	return NULL;
}

static char *text(const struct buf *b)
{
	return xstrdup(b->data ? (const char *)b->data : "");
}

static bool is_oom(const cJSON *end)
{
	return str_eq(json_str(end, "reason"), "OOMKilled");
}

/*
 * The message without "killed by signal 9 (Killed): ", and without what it says of a lack
 * of memory; "" if nothing else remains.
 */
static const char *more_than_signal(const char *message)
{
	const char *end = message && str_starts(message, "killed by signal ")
				  ? strchr(message, ')')
				  : NULL;

	if (message && str_starts(message, KUBELET_OOM))
		return "";
	if (!end)
		return message;
	return str_starts(end, "): ") ? end + strlen("): ") : "";
}

static char *what_happened(const cJSON *end, const cJSON *status)
{
	cleanup_buf struct buf b = { .max = 4096 };
	int code = (int)json_int(end, 0, "exitCode"),
	    sig = (int)json_int(end, 0, "signal");
	const char *message = more_than_signal(json_str(end, "message"));
	const char *why = json_str(status, "reason");

	if (is_oom(end))
		buf_printf(&b, "out of memory (killed by the kernel)");
	else if (sig)
		buf_printf(&b, "killed by %s (signal %d)", signal_name(sig), sig);
	else
		buf_printf(&b, "exit code %d", code);
	if (message && *message)
		buf_printf(&b, ": %s", message);
	if (why)
		buf_printf(&b, "; the pod failed: %s", why);
	return text(&b);
}

static void add_log_hint(struct buf *out, const struct report *r, const struct stream *s)
{
	enum log_side side = s->reader.cause->side;

	log_hint(out, &s->reader);
	if (r->port_to && (side == LOG_NAME || side == LOG_PORT))
		buf_printf(out, "; port %d is mapped to %d", r->port_from, r->port_to);
}

/* A line such as "kftrainer supervise: run directory: ..." says itself what to do. */
static const char *ends_with_ours(const struct stream *s)
{
	const char *last = s->n ? s->lines[(s->n - 1) % REPORT_LINES].text : "";

	return str_starts(last, "kftrainer ") ? last : NULL;
}

/* E2BIG, of the kubelet's execve() or of a shell's. */
static bool is_too_long(const struct stream *s, const cJSON *end)
{
	const char *message = json_str(end, "message");

	return (message && strstr(message, "too long for execve()")) ||
	       (s->n && strstr(s->lines[(s->n - 1) % REPORT_LINES].text,
			       "Argument list too long"));
}

/* The remedy for the kubelet's message about the script; else the text. */
static const char *script_hint(const cJSON *end, const char *text)
{
	const char *message = json_str(end, "message");
	const char *remedy = message ? spawn_remedy(message) : NULL;

	return remedy ? remedy : text;
}

/* As if torchrun had reported it, which names signals in its log. */
static void add_signal_hint(struct buf *out, int64_t sig)
{
	struct log_reader reader = { 0 };
	char line[64];
	bool better;

	if (sig == SIGKILL)
		buf_adds(out, "killed by SIGKILL; check dmesg for an out-of-memory kill");
	if (!sig || sig == SIGKILL || sig == SIGTERM)
		return;
	snprintf(line, sizeof(line), "Signal %d (%s) received", (int)sig,
		 signal_name((int)sig));
	if (log_read(&reader, line, strlen(line), &better))
		log_hint(out, &reader);
}

/* The hint for exit code 126 or 127; "" for others. */
static const char *start_hint(const struct stream *s, const cJSON *end, int64_t code)
{
	const char *ours = ends_with_ours(s);

	if (code == 126 && is_too_long(s, end))
		return "Linux takes 128 KiB of one argument or variable, and 2 MiB of "
		       "all: put the data in a file";
	if (ours && (code == 126 || spawn_remedy(ours)))
		return "";
	if (code == 127)
		return script_hint(end, "command not found: install it on this machine, "
					"or use its environment (--venv); images are not "
					"pulled");
	return script_hint(end, "file not executable: run chmod +x on it, or start it "
				"with its interpreter");
}

/* The hint, "" for none. */
static char *hint_of(const struct report *r, const struct stream *s, const char *pod,
		     const char *container, const cJSON *end)
{
	const cJSON *spec = spec_of(r, pod, container);
	const char *limit = json_str(spec, "resources", "limits", "memory");
	int64_t code = json_int(end, 0, "exitCode"), sig = json_int(end, 0, "signal");
	cleanup_buf struct buf b = { .max = 1024 };

	if (is_oom(end))
		buf_printf(&b,
			   "needs more memory than %s%s: raise resources.limits.memory "
			   "or use a smaller batch",
			   limit ? "its limit of " : "is available", limit ? limit : "");
	else if (s->reader.cause && s->n - s->cause_at <= CAUSE_LINES &&
		 !(s->reader.cause->side == LOG_PEER && own_error(s)))
		add_log_hint(&b, r, s);
	else if (code == 126 || code == 127)
		buf_adds(&b, start_hint(s, end, code));
	else
		add_signal_hint(&b, sig || code < 128 ? sig : code - 128); /* a shell's */
	return text(&b);
}

static char *last_lines(const struct stream *s)
{
	cleanup_buf struct buf b = { .max = REPORT_LINES * (REPORT_LINE_MAX + 16) };
	size_t kept = s->n < REPORT_LINES ? s->n : REPORT_LINES;

	for (size_t i = s->n - kept; i < s->n; i++)
		buf_printf(&b, "    %s\n", s->lines[i % REPORT_LINES].text);
	return text(&b);
}

/* The first rank that recently raised an error of its own, *ret_ms; or NULL. */
static const struct stream *first_own_error(const struct report *r, int64_t now_ms,
					    int64_t *ret_ms)
{
	const struct first_error *first = NULL;
	const struct stream *ret = NULL;

	map_each(e, &r->streams) {
		const struct first_error *error = own_error(e->value);

		if (error && now_ms - error->ms <= REPORT_TOGETHER_MS &&
		    first_error_before(error, first)) {
			first = error;
			ret = e->value;
			*ret_ms = error->ms;
		}
	}
	return ret;
}

/* The lines of a traceback with a headline; `what`: "traceback". */
static char *traceback_of(const char *what, const struct buf *lines, const char *mark)
{
	cleanup_buf struct buf b = { .max = FIRST_ERROR_TEXT + 100 };
	bool marked = *mark;

	buf_printf(&b, "%s%s%.*s:\n", what, marked ? " of " : "",
		   marked ? (int)strcspn(mark + 1, "]") : 0, mark + marked);
	buf_adds(&b, first_error_text(lines));
	return text(&b);
}

/* The process ended within it, and raised no error before. NULL: there is none. */
static char *unfinished_traceback(const struct stream *s)
{
	map_each(e, &s->errors) {
		const struct buf *lines = first_error_unfinished(e->value);

		if (lines)
			return traceback_of("unfinished traceback", lines, e->key);
	}
	return NULL;
}

/* The error and its traceback, of the stream that explains the failure. */
static void describe_error(struct failure *f, const struct stream *s)
{
	cleanup_arena struct arena a = { 0 };
	const char *mark = "";
	const struct first_error *e = stream_error(s, &mark);

	if (e && !e->peer)
		f->error = xstrdup(
			arena_printf(&a, "%s%s", mark, first_error_text(&e->line)));
	if (!e)
		f->lines = unfinished_traceback(s);
	else if (e->traceback.len)
		f->lines = traceback_of("traceback", &e->traceback, mark);
	f->traceback = f->lines != NULL;
	if (!f->lines)
		f->lines = last_lines(s);
}

static struct failure describe(const struct report *r, const struct stream *s,
			       const char *pod, const char *container, const cJSON *end)
{
	const struct stream *by = s;
	struct failure f = {
		.prefix = xstrdup(s->prefix),
		.hint = hint_of(r, s, pod, container, end),
		.victim = !own_error(s) && s->reader.cause &&
			  s->reader.cause->side == LOG_PEER,
	};

	if (f.victim)
		by = first_own_error(r, r->now_ms, &f.cause_ms);
	if (f.victim && by)
		f.cause = xstrdup(by->prefix);
	describe_error(&f, by ? by : s);
	return f;
}

static void add_failure(struct report *r, const struct failure *f)
{
	if (r->n == REPORT_FAILURES) {
		failure_release(&r->list[0]);
		memmove(&r->list[0], &r->list[1], (--r->n) * sizeof(r->list[0]));
	}
	r->list[r->n++] = *f;
}

static void add_container_status(struct report *r, const char *pod, const cJSON *status,
				 const cJSON *c)
{
	const char *name = json_str(c, "name") ? json_str(c, "name") : "";
	struct stream *s = stream_of(r, pod, name);
	const cJSON *end = json_get(c, "state", "terminated");
	int64_t restarts = json_int(c, 0, "restartCount");
	struct failure f;

	if (restarts > s->ends) {
		/* ended and restarted between two calls, or already recorded */
		if (!end && !s->ended)
			end = json_get(c, "lastState", "terminated");
		s->ends = restarts;
		s->ended = false;
	}
	if (!end || s->ended)
		return;
	s->ended = json_get(c, "state", "terminated") != NULL;
	if (json_int(end, 0, "exitCode")) {
		f = describe(r, s, pod, name, end);
		f.what = what_happened(end, status);
		f.code = (int)json_int(end, 0, "exitCode");
		f.at_ms = r->now_ms;
		add_failure(r, &f);
	}
	log_forget(&s->reader);
	map_release(&s->errors, error_free);
}

void report_status(struct report *r, const char *pod, const cJSON *status, int64_t now_ms)
{
	const cJSON *c;

	r->now_ms = now_ms;
	json_each(c, json_get(status, "initContainerStatuses"))
		add_container_status(r, pod, status, c);
	json_each(c, json_get(status, "containerStatuses"))
		add_container_status(r, pod, status, c);
}

/* ---- the report ------------------------------------------------------------------ */

static bool runs(const struct report *r, const char *prefix)
{
	map_each(e, &r->streams) {
		const struct stream *s = e->value;

		if (!s->ended && str_eq(s->prefix, prefix))
			return true;
	}
	return false;
}

/* Did the rank of failure i run for REPORT_OVERCOME_MS after it? */
static bool overcome(const struct report *r, size_t i)
{
	const struct failure *f = &r->list[i], *last = &r->list[r->n - 1];

	for (size_t k = i + 1; k < r->n; k++)
		if (str_eq(r->list[k].prefix, f->prefix))
			return r->list[k].at_ms - f->at_ms > REPORT_OVERCOME_MS;
	return last->at_ms - f->at_ms > REPORT_OVERCOME_MS && runs(r, f->prefix);
}

/* The earliest failure; if it blames a lost peer, the earliest that does not. */
static const struct failure *first_failure(const struct report *r)
{
	const struct failure *first = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct failure *f = &r->list[i];

		if (overcome(r, i))
			continue;
		if (!first)
			first = f;
		if (f->at_ms - first->at_ms > REPORT_TOGETHER_MS)
			break;
		if (!f->victim)
			return f;
	}
	return first;
}

int report_exit_code(const struct report *r)
{
	const struct failure *f = first_failure(r);

	return f ? f->code : 0;
}

static int restarts_of(const struct report *r, const struct failure *f)
{
	int n = 0;

	for (const struct failure *g = f + 1; g < r->list + r->n; g++)
		n += str_eq(g->prefix, f->prefix);
	return n;
}

static size_t count_lines(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void print_headline(struct buf *out, const struct report *r,
			   const struct failure *f)
{
	size_t len = f->error ? strlen(f->error) : 0;

	buf_printf(out, "%s failed first, after %.1f s: %s", f->prefix,
		   (double)(f->at_ms - r->start_ms) / 1000, f->what);
	if (restarts_of(r, f) == 1)
		buf_adds(out, " (and once more)");
	else if (restarts_of(r, f))
		buf_printf(out, " (and %d times more)", restarts_of(r, f));
	buf_adds(out, "\n");
	if (f->error && !strstr(f->lines, traceback_unranked(f->error, &len)))
		buf_printf(out, "error: %s\n", f->error);
}

static void print_lines(struct buf *out, const char *lines, bool traceback)
{
	size_t n = count_lines(lines);

	if (traceback)
		buf_adds(out, lines);
	else if (n)
		buf_printf(out, "last %s:\n%s",
			   n == 1              ? "line"
			   : n == REPORT_LINES ? "20 lines"
					       : "lines",
			   lines);
	else
		buf_adds(out, "no output\n");
}

void report_print(struct buf *out, const struct report *r, const char *logs,
		  const char *name)
{
	const struct failure *f = first_failure(r);

	if (!f)
		return;
	if (f->cause)
		buf_printf(out,
			   "%s failed first, after %.1f s\nerror: %s\n"
			   "%s then lost that peer: %s\n",
			   f->cause, (double)(f->cause_ms - r->start_ms) / 1000, f->error,
			   f->prefix, f->what);
	else
		print_headline(out, r, f);
	if (!f->cause && *f->hint)
		buf_printf(out, "hint: %s\n", f->hint);
	print_lines(out, f->lines, f->traceback);
	buf_printf(out, "logs: %s (kftrainer logs %s)\n", logs, name);
}
