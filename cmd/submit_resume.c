/* submit_resume.c - read the job and code of a run directory (cmd/submit_resume.h). */
#include "cmd/submit_resume.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/ui/env.h"
#include "crypto/digest.h"
#include "spec/jobenv.h"
#include "trainer/run_spec.h"
#include "trainer/supervise_spec.h"
#include "trainer/trainjob.h"

int submit_resume_check(struct job_opts *job, const struct workspace_opts *w,
			const char *uri, int argc, struct arena *arena, struct error *err)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{ argc || job->files.n, "a file" },
		{ job->runtime, "--runtime" },
		{ job->launch, "--launcher" },
		{ job->run_dir, "--run-dir" },
		{ w->dev, "--dev" },
	};
	size_t n = 0;
	const char **words;

	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (others[i].given)
			return error_set(err, ERR_USAGE,
					 "--resume cannot be combined with %s",
					 others[i].name);
	while (job->command && job->command[n])
		n++;
	words = arena_alloc(arena, (job->args.n + n + 1) * sizeof(*words));
	for (size_t i = 0; i < job->args.n; i++)
		words[i] = job->args.list[i];
	for (size_t i = 0; i < n; i++)
		words[job->args.n + i] = job->command[i];
	job->args = (struct opt_strs){ words, job->args.n + n };
	job->command = NULL;
	job->run_dir = uri;
	return 0;
}

/* Adds the names of variables whose values have been left out. */
static void add_missing(struct buf *out, const cJSON *doc, const cJSON *given)
{
	const cJSON *one, *child;

	json_each(one, json_get(doc, "env")) {
		const char *name = json_str(one, "name");

		if (run_spec_is_secret(name) && !json_get(one, "value") &&
		    !json_get(one, "valueFrom") && !json_find_const(given, "name", name))
			buf_printf(out, "%s%.200s", out->len ? ", " : "", name);
	}
	json_each(child, doc)
		add_missing(out, child, given);
}

static int check_secrets(const struct job_opts *job, const cJSON *tj,
			 const struct reporter *to, struct error *err)
{
	cleanup_buf struct buf names = { .max = 2000 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *given = NULL, *rest = json_dup(tj);

	if (job_env_read(&given, job, to, err))
		return -1;
	add_missing(&names, json_get(tj, "spec", "trainer"), given);
	if (names.len)
		return error_set(err, ERR_USAGE,
				 "--resume: values of secrets are not stored; pass %s "
				 "with --env NAME, or --env NAME=VALUE",
				 str_visible(&arena, (const char *)names.data, false));
	json_del(rest, JSON_PATH("spec", "trainer"));
	add_missing(&names, rest, NULL);
	return names.len ? error_set(err, ERR_USAGE,
				     "--resume: values of secrets are not stored, of %s; "
				     "submit the job's file with --run-dir and "
				     "--annotation kftrainer.io/resume=true",
				     str_visible(&arena, (const char *)names.data, false))
			 : 0;
}

/* The archive of the run, unless the job has it from a URI, or --workspace replaces it. */
static int use_code(const struct history_origin *o, struct workspace_opts *w,
		    const struct reporter *to, struct error *err)
{
	char digest[DIGEST_HEX_SIZE];
	struct workspace had;

	if (workspace_of(&had, o->trainjob, err))
		return error_wrap(err, "--resume: job.yaml");
	if (had.digest && had.uri && !w->dir && !w->to)
		return 0;
	if (had.digest && !w->dir && !o->code.len)
		return error_set(
			err, ERR_USAGE,
			"--resume: the run directory has no code.tar.zst, as the "
			"workspace was too large; pass it with --workspace DIR");
	if (had.digest && !w->dir) {
		digest_hex_of(DIGEST_SHA256, o->code.data, o->code.len, digest);
		if (!str_eq(digest, had.digest))
			reporter_line(to, "warning: code.tar.zst is not all of the "
					  "workspace: files of --include are not in it; "
					  "--workspace DIR replaces it");
		w->archive = &o->code;
	}
	workspace_annotate(o->trainjob, &(const struct workspace){ 0 });
	return 0;
}

int submit_resume(struct history_origin *ret, struct job_opts *job,
		  struct workspace_opts *w, const struct reporter *to, struct error *err)
{
	const struct history_conf conf = { .uri = job->run_dir, .env = env_variable };
	cJSON *tj;

	if (!w->from)
		return 0;
	if (history_origin(ret, &conf, err))
		return error_wrap(err, "--resume");
	tj = ret->trainjob;
	if (check_secrets(job, tj, to, err) || use_code(ret, w, to, err))
		return -1;
	meta_set_annotation(tj, RUN_RESUME_ANNOTATION, "true");
	json_del(tj, JSON_PATH("metadata", "uid"));
	json_del(tj, JSON_PATH("metadata", "annotations", DEV_ANNOTATION));
	json_del(tj, JSON_PATH("metadata", "annotations", DEV_FROM_ANNOTATION));
	if (job->ns)
		meta_set_namespace(tj, job->ns);
	job->trainjob = tj;
	return 0;
}
