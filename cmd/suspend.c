/*
 * suspend.c - stop the pods of TrainJobs and keep the jobs; resume.c starts them again.
 */
#include "cmd/suspend.h"

#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/jobs.h"
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
	bool named;   /* one by one: each is answered for */
	size_t ended; /* that --all and --selector leave out */
};

/* true: the queue has done it, or has failed to (*rc). */
static bool by_queue(const struct suspending *s, const cJSON *job, int *rc,
		     struct error *err)
{
	const char *queue = queue_of(job), *name = meta_name(job);
	enum queue_answer answer = QUEUE_NONE;

	*rc = queue ? queue_set_active(s->kube, job, !s->suspend, &answer, err) : 0;
	if (*rc)
		return true;
	if (answer == QUEUE_NONE)
		return false;
	if (answer == QUEUE_SET_ALREADY)
		printf("trainjob %s %s\n", name,
		       s->suspend ? "is suspended already"
				  : "is not suspended; it is the queue that starts it");
	else
		printf("trainjob %s %s (its Workload in queue %s is %s)\n", name,
		       s->suspend ? "suspended" : "resumed", queue,
		       s->suspend ? "not active" : "active again");
	return true;
}

static int set_suspend(void *ctx, const cJSON *job, struct error *err)
{
	struct suspending *s = ctx;
	const char *name = meta_name(job), *word = s->suspend ? "suspended" : "resumed";
	const struct kube_ref ref = job_ref(meta_namespace(job), name);
	const struct kube_write how = { .manager = "kftrainer", .meta_only = true };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	int rc;

	if (status_finished(tj_status(job)) && !s->named) {
		s->ended++;
		return 0;
	}
	if (status_finished(tj_status(job)))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s is %s: one that has ended cannot be %s",
				 name, status_state(tj_status(job)), word);
	if (meta_is_deleted(job))
		return error_set(err, ERR_CONFLICT, "TrainJob %s is being deleted", name);
	if (by_queue(s, job, &rc, err))
		return rc;
	if (tj_suspend(job) == s->suspend) {
		printf("trainjob %s %s\n", name,
		       s->suspend ? "is suspended already" : "is not suspended");
		return 0;
	}
	tj_set_suspend(patch, s->suspend);
	if (kube_merge_patch(s->kube, &ref, patch, &how, NULL, err))
		return -1;
	printf("trainjob %s %s\n", name, word);
	return 0;
}

int suspend_run(const struct suspend_opts *opts, bool suspend, int argc, char **argv,
		struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct suspending s = { .suspend = suspend, .named = argc > 0 };
	struct pick pick = { .cmd = suspend ? "suspend" : "resume",
			     .opts = &opts->pick,
			     .names = argv };
	int code;

	if (pick_check(&opts->pick, argc, argv, err) ||
	    where_connect(&k, &pick.ns, &arena, &opts->where, err))
		return -1;
	if (!k)
		return error_set(
			err, ERR_UNSUPPORTED,
			"jobs of this machine are processes, which cannot be %s; "
			"'kftrainer delete' ends one, and it is a kubeconfig "
			"that leads to a cluster",
			suspend ? "suspended" : "resumed");
	pick.kube = s.kube = k;
	code = pick_each(&pick, set_suspend, &s, err);
	if (s.ended)
		printf("%zu that %s ended left out\n", s.ended,
		       s.ended == 1 ? "has" : "have");
	return code;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	return suspend_run(values, true, argc, argv, err);
}

const struct cmd cmd_suspend = {
	.name = "suspend",
	.args = "JOB...",
	.summary = "stop the pods of TrainJobs, keeping the jobs",
	.about = "Sets spec.suspend. The pods go, and with them what they have not "
		 "saved; the\n"
		 "job keeps its name, settings and place until 'kftrainer resume'.",
	.example = "kftrainer suspend bert\n"
		   "kftrainer suspend -l team=vision",
	.opts = suspend_options,
	.opts_size = sizeof(struct suspend_opts),
	.run = run,
};
