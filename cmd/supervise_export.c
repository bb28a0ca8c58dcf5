/* supervise_export.c - from a trained model to export-model (supervise_export.h). */
#include "cmd/supervise_export.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/export_register.h"
#include "cmd/ui/env.h"
#include "trainer/export_spec.h"
#include "trainer/progress.h"

enum { MOST_METRICS = 30, MAX_NAME = 200, MAX_REPORT = 64 * 1024 };

#define RETRIES \
	"31" /* eight minutes of a server that refuses: the model is on this node alone */

/* One in a process. */
static struct exporting {
	const struct finish_opts *opts;
	struct arena arena;
	const char *dir, *mark; /* of the model; the file that says it is trained */
	pthread_mutex_t lock;
	struct buf last; /* the newest report that has metrics */
} exporting = { .lock = PTHREAD_MUTEX_INITIALIZER, .last = { .max = MAX_REPORT } };

static void keep_report(void *ctx, const char *json, size_t len, int64_t unix_ms)
{
	cleanup_json cJSON *progress = NULL;

	if (len >= MAX_REPORT || json_parse(&progress, json, len, IGNORED) ||
	    !cJSON_GetArraySize(json_get(progress, "metrics")))
		return;
	pthread_mutex_lock(&exporting.lock);
	exporting.last.len = 0;
	buf_add(&exporting.last, json, len);
	pthread_mutex_unlock(&exporting.lock);
}

static bool is_trained(void *ctx)
{
	cleanup_arena struct arena arena = { 0 };

	if (!exporting.opts->uid ||
	    !str_eq(file_first_line(&arena, exporting.mark), exporting.opts->uid))
		return false;
	cmd_complain("supervise", "this job has trained before: only its export is left");
	return true;
}

/* Without it a pod after this one would train again: no reason to fail. */
static void mark(void)
{
	cleanup_arena struct arena arena = { 0 };
	const char *line = arena_printf(&arena, "%s\n", exporting.opts->uid);
	struct error err;

	if (exporting.opts->uid &&
	    (dir_make(path_dir(&arena, exporting.mark), 0777, &err) ||
	     file_write(exporting.mark, line, strlen(line), 0666, &err)))
		cmd_complain("supervise", "%s", err.msg);
}

static bool is_number(const char *text)
{
	char *after;

	if (!text || !*text || strlen(text) > MAX_NAME)
		return false;
	strtod(text, &after);
	return !*after;
}

/* Is the text valid as the name of a property (registry_check())? */
static bool is_name(const char *text)
{
	return text && *text && strlen(text) <= MAX_NAME && !strchr(text, '=') &&
	       utf8_valid(text, strlen(text)) && !str_has_control(text, "");
}

static size_t add_metrics(struct arena *arena, const char **argv, const char *registry)
{
	cleanup_json cJSON *progress = NULL, *tj = cJSON_CreateObject();
	const cJSON *metric;
	size_t n = 0;

	pthread_mutex_lock(&exporting.lock);
	if (exporting.last.len && json_parse(&progress, (char *)exporting.last.data,
					     exporting.last.len, IGNORED))
		progress = NULL;
	pthread_mutex_unlock(&exporting.lock);
	if (!progress)
		return 0;
	progress_put(tj, progress);
	json_each(metric, progress_metric_list(tj)) {
		const char *name = json_str(metric, "name"),
			   *value = json_str(metric, "value");
		cleanup_free char *clean = name ? registry_clean(registry, name) : NULL;

		if (n < MOST_METRICS && is_name(clean) && is_number(value))
			argv[n++] = arena_printf(arena, "--property=metrics.%s=%s", clean,
						 value);
	}
	return n;
}

/*
 * kftrainer export-model DIR ...: a child, whose memory is not the supervisor's. *ret_n:
 * how many words there are.
 */
static char **words(struct arena *arena, bool metrics, size_t *ret_n)
{
	const struct finish_opts *o = exporting.opts;
	const char *const first[] = { "/proc/self/exe", "export-model", exporting.dir,
				      "--uri",          o->uri,         "--retries",
				      RETRIES };
	const char **argv =
		arena_alloc(arena, (N_ELEMENTS(first) + o->args.n * (1 + MOST_METRICS) +
				    1) * sizeof(*argv));
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(first); i++)
		argv[n++] = first[i];
	for (size_t i = 0; i < o->args.n; i++) {
		const char *registry = str_after(o->args.list[i], "--register=");

		argv[n++] = o->args.list[i];
		if (metrics && registry)
			n += add_metrics(arena, argv + n, registry);
	}
	argv[n] = NULL;
	*ret_n = n;
	return (char **)argv;
}

static char *const *command(void *ctx, struct arena *arena)
{
	size_t n;

	mark();
	return words(arena, true, &n);
}

/* Check the options before the training, not after it. */
static int check_words(struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n;
	char **argv = words(&arena, false, &n);

	return export_model_check((int)n - 1, argv + 1, err);
}

int supervise_export(struct supervise_finish *ret, struct report_sink *ret_sink,
		     const struct finish_opts *o, uint32_t rank, struct error *err)
{
	struct exporting *e = &exporting;

	e->opts = o;
	if (o->models)
		setenv(EXPORT_MODEL_ENV,
		       arena_printf(&e->arena, "%s/%u", o->models, rank), 1);
	e->dir = env_variable(NULL, EXPORT_MODEL_ENV);
	if (!e->dir)
		return error_set(err, ERR_USAGE,
				 "--export-to requires --models, or " EXPORT_MODEL_ENV
				 " in the environment");
	if (check_words(err))
		return -1;
	if (dir_make(e->dir, 0777, err))
		return error_wrap(err, EXPORT_MODEL_ENV);
	e->mark = path_join(&e->arena, e->dir, ".kftrainer/trained");
	*ret_sink = (struct report_sink){ keep_report, NULL };
	*ret = (struct supervise_finish){ .is_trained = is_trained, .command = command };
	return 0;
}
