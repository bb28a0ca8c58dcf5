/* supervise_track.c - from reports to points, and from runs to variables (supervise_track.h). */
#include "cmd/supervise_track.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "registry/track.h"
#include "supervise/stopsig.h"
#include "trainer/progress.h"

enum {
	FIRST_MS = 10 * 1000, /* without an answer: the job waits for its run */
	END_MS = 10 * 1000,
	AWAY_MS = 8 * 60 * 1000, /* as for a registry: supervise_export.c */
	MAX_POINTS = 1000,       /* of a report */
	ID_BYTES = MESSAGE_TOKEN * 4,
};

/* One in a process. */
struct tracking {
	struct arena arena;
	struct track_conf conf;
	struct track *track; /* NULL: this is not rank 0, or it has not started */
	struct registry_property tags[3], params[4];
};

static void add(struct registry_property *list, size_t *n, const char *name,
		const char *value)
{
	if (value)
		list[(*n)++] = (struct registry_property){ name, value };
}

static void say(void *ctx, const char *line)
{
	cmd_complain("supervise", "%s", line);
}

/* ---- the run's ID as the ranks' token ---- */

static void token(void *ctx, bool first, uint32_t ret[MESSAGE_TOKEN])
{
	cleanup_buf struct buf bytes = { .max = ID_BYTES };
	struct tracking *t = ctx;
	struct error err = { 0 };
	char id[TRACK_ID_SIZE];

	if (first && track_start(&t->track, &t->conf, &err))
		say(NULL, err.msg);
	if (!t->track || !track_run(t->track, first ? FIRST_MS : 0, stopsig_pending, id))
		return;
	if (hex_decode(&bytes, id, strlen(id), &err) || bytes.len != ID_BYTES)
		say(NULL, "the run's ID is not a UUID: commands have no MLFLOW_RUN_ID");
	else
		memcpy(ret, bytes.data, ID_BYTES);
}

static const char *variable(void *ctx, struct arena *arena,
			    const uint32_t token[MESSAGE_TOKEN])
{
	static const uint32_t none[MESSAGE_TOKEN];
	cleanup_buf struct buf id = { .max = TRACK_ID_SIZE };

	if (!memcmp(token, none, sizeof(none)))
		return NULL;
	hex_encode(&id, token, ID_BYTES);
	return arena_printf(arena, "MLFLOW_RUN_ID=%s", (const char *)id.data);
}

static void end(void *ctx, int status, bool by_signal)
{
	const struct track_patience patience = { .ms = END_MS,
						 .away_ms = by_signal ? END_MS : AWAY_MS,
						 .stop = stopsig_pending };
	struct tracking *t = ctx;

	if (t->track)
		track_end(t->track,
			  by_signal ? TRACK_KILLED
			  : status  ? TRACK_FAILED
				    : TRACK_FINISHED,
			  &patience);
}

/* ---- reports ---- */

/* The step that a report names; -1: none. */
static int64_t step_of(const cJSON *metrics)
{
	const cJSON *metric;
	int64_t step;

	json_each(metric, metrics) {
		const char *name = json_str(metric, "name");

		if ((str_eq(name, "step") || str_eq(name, "global_step")) &&
		    !str_int(&step, json_str(metric, "value"), 0, INT64_MAX / 2, IGNORED))
			return step;
	}
	return -1;
}

struct points {
	struct track_point list[MAX_POINTS];
	size_t n;
	int64_t unix_ms, step;
};

static void put(struct points *p, const char *name, double value)
{
	if (p->n < MAX_POINTS)
		p->list[p->n++] =
			(struct track_point){ name, value, p->unix_ms, p->step };
}

static void put_metric(struct points *p, const cJSON *metric)
{
	const char *name = json_str(metric, "name"), *text = json_str(metric, "value");
	char *after;
	double value;

	if (!name || !*name || !text || !*text)
		return;
	value = strtod(text, &after);
	if (!*after)
		put(p, name, value);
}

static void take(void *ctx, const char *json, size_t len, int64_t unix_ms)
{
	cleanup_json cJSON *progress = NULL, *tj = cJSON_CreateObject();
	cleanup_free struct points *p = xcalloc(1, sizeof(*p));
	struct tracking *t = ctx;
	const cJSON *metric;

	if (!t->track || json_parse(&progress, json, len, IGNORED))
		return;
	progress_put(tj, progress);
	if (progress_updated_ms(tj) >= 0) /* else the time of its arrival */
		unix_ms = progress_updated_ms(tj);
	p->unix_ms = unix_ms;
	p->step = step_of(progress_metric_list(tj));
	if (progress_percentage(tj) >= 0)
		put(p, "progress", (double)progress_percentage(tj));
	if (progress_remaining(tj) >= 0)
		put(p, "remaining_seconds", (double)progress_remaining(tj));
	json_each(metric, progress_metric_list(tj))
		put_metric(p, metric);
	track_add(t->track, p->list, p->n);
}

/* ---- what is known of the job ---- */

static const char *words_of(struct arena *arena, char *const *command)
{
	cleanup_buf struct buf out = { .max = REGISTRY_MAX_VALUE };

	for (; *command; command++)
		buf_printf(&out, "%s%s", out.len ? " " : "", str_sh(arena, *command));
	return arena_strdup(arena, (const char *)out.data);
}

static void describe(struct tracking *t, const struct track_opts *o, int64_t ranks,
		     char *const *command)
{
	size_t n;
	char **part = str_split(&t->arena, o->job ? o->job : "", '/', &n);
	struct track_conf *c = &t->conf;

	c->key = o->job ? o->job : words_of(&t->arena, command);
	c->name = n > 1 ? part[1] : c->key;
	add(t->tags, &c->n_tags, "trainjob.namespace", n > 1 ? part[0] : NULL);
	add(t->tags, &c->n_tags, "trainjob.name", n > 1 ? part[1] : NULL);
	add(t->tags, &c->n_tags, "trainjob.uid", n > 2 ? part[2] : NULL);
	add(t->params, &c->n_params, "trainjob.image", o->image);
	add(t->params, &c->n_params, "trainjob.nodes",
	    arena_printf(&t->arena, "%" PRId64, ranks));
	add(t->params, &c->n_params, "trainjob.processes",
	    env_variable(NULL, "PET_NPROC_PER_NODE"));
	add(t->params, &c->n_params, "trainjob.command", words_of(&t->arena, command));
	c->kept = o->kept;
	c->tags = t->tags;
	c->params = t->params;
}

int supervise_track(struct supervise_tracker *ret, struct report_sink *ret_sink,
		    const struct track_opts *o, int64_t ranks, char *const *command,
		    struct error *err)
{
	static struct tracking t;

	if (track_check(o->uri, err))
		return error_wrap(err, "--track");
	t = (struct tracking){
		.conf.registry = { .uri = o->uri,
				   .env = env_variable,
				   .say = say,
				   .user_agent = "kftrainer/" VERSION },
	};
	describe(&t, o, ranks > 1 ? ranks : 1, command);
	*ret_sink = (struct report_sink){ take, &t };
	*ret = (struct supervise_tracker){
		.token = token, .variable = variable, .end = end, .ctx = &t
	};
	return 0;
}
