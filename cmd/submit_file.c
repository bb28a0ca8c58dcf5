/* submit_file.c - the file or script that `submit` runs (cmd/submit_file.h). */
#include "cmd/submit_file.h"

#include "base/str.h"
#include "spec/refer.h"

#define SCRIPT_RUNTIME "torch-distributed"

/* Is FILE Python code, which becomes part of the job? */
static int resolve_script(struct job_opts *job, struct error *err)
{
	const char *first = job_opts_file(job), *script = NULL;

	if (first && str_ends(first, ".py"))
		script = first;
	for (size_t i = 0; i < job->files.n; i++)
		if (str_ends(job->files.list[i], ".py"))
			script = job->files.list[i];
	if (!script)
		return 0;
	if ((job->file != NULL) + job->files.n > 1)
		return error_set(err, ERR_USAGE,
				 "%s: a script cannot be combined with other files; pass "
				 "runtimes with --runtime-file",
				 script);
	job->script = script;
	job->file = NULL;
	job->files.n = 0;
	if (!job->runtime)
		job->runtime = SCRIPT_RUNTIME;
	return 0;
}

int submit_file(struct job_opts *job, int argc, char **argv, struct error *err)
{
	const char *flag;

	if (argc > 1)
		return error_set(err, ERR_USAGE,
				 "unexpected argument '%s': pass more files with -f, a "
				 "command after '--'",
				 argv[1]);
	job->file = argc ? argv[0] : NULL;
	if (resolve_script(job, err))
		return -1;
	flag = job_opts_flag(job);
	if (job_opts_file(job) && flag)
		return error_set(err, ERR_USAGE, "%s cannot be combined with a file%s",
				 flag, job->command ? "; --arg appends an argument" : "");
	if (!job_opts_file(job) && !job->runtime)
		return error_set(
			err, ERR_USAGE,
			flag ? "%s requires --runtime NAME, such as torch-distributed "
			       "(kftrainer runtime list)"
			     : "specify a file or --runtime%s",
			flag ? flag : "");
	return job->runtime ? refer_runtime(&job->runtime, &job->runtime_kind, err) : 0;
}
