/* suspend.c - suspend TrainJobs: their pods end, the jobs remain (cmd/suspend.h). */
#include "cmd/suspend.h"

#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/queue.h"
#include "cmd/cmd.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

const struct opt suspend_options[] = {
	WHERE_OPTIONS(struct suspend_opts),
	PICK_OPTIONS(struct suspend_opts),
	{ .type = OPT_END },
};

struct suspending {
	struct kube *kube;
	bool suspend;
	bool named;   /* jobs were named: report each */
	size_t ended; /* finished jobs that --all and --selector skip */
};

static int set_suspend(void *ctx, const cJSON *job, struct error *err)
{
	struct suspending *s = ctx;
	const char *word = s->suspend ? "suspended" : "resumed";
	enum suspension result;

	if (status_finished(tj_status(job)) && !s->named) {
		s->ended++;
		return 0;
	}
	if (queue_set_suspended(s->kube, job, s->suspend, &result, err))
		return -1;
	printf("trainjob %s ", meta_name(job));
	if (result == SUSPENSION_SET)
		puts(word);
	else if (result == SUSPENSION_SET_BY_QUEUE)
		printf("%s (its Workload in queue %s is %s)\n", word, queue_name(job),
		       s->suspend ? "not active" : "active again");
	else if (s->suspend)
		puts("already suspended");
	else
		puts(result == SUSPENSION_UNCHANGED
			     ? "not suspended"
			     : "not suspended; it is waiting for its queue");
	return 0;
}

int suspend_run(const struct suspend_opts *opts, bool suspend, int argc, char **argv,
		struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct suspending s = { .suspend = suspend };
	struct pick pick = { .cmd = suspend ? "suspend" : "resume", .opts = &opts->pick };
	int code;

	if (pick_check(&opts->pick, &argc, &argv, err) ||
	    where_connect(&k, &pick.ns, &arena, &opts->where, err))
		return -1;
	pick_skip_kind(k, pick.ns, false, &argc, &argv);
	s.named = argc > 0;
	pick.names = argv;
	pick.kube = s.kube = k;
	code = pick_each(&pick, set_suspend, &s, err);
	if (s.ended)
		printf("skipped %zu finished job%s\n", s.ended, s.ended == 1 ? "" : "s");
	return code;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	return suspend_run(values, true, argc, argv, err);
}

const struct cmd cmd_suspend = {
	.name = "suspend",
	.args = "JOB...",
	.summary = "stop the pods of TrainJobs, but keep the jobs",
	.about =
		"Sets spec.suspend. The pods are deleted and unsaved state is lost; the job keeps\n"
		"its name and settings until 'kftrainer resume'.",
	.example = "kftrainer suspend bert\n"
		   "kftrainer suspend -l team=vision",
	.opts = suspend_options,
	.opts_size = sizeof(struct suspend_opts),
	.run = run,
};
