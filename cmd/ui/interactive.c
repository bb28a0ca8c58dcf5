/* interactive.c - one process on the user's terminal (cmd/ui/interactive.h). */
#include "cmd/ui/interactive.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/ui/viewer.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"

int interactive_check(bool local, bool apart, struct error *err)
{
	if (!local)
		return error_set(
			err, ERR_USAGE,
			"-i requires --local; in a cluster use 'kubectl exec -it POD -- "
			"sh', or 'kubectl attach -it POD' if the runtime sets stdin and "
			"tty");
	if (apart)
		return error_set(err, ERR_USAGE,
				 "-i cannot be combined with --detach, --follow, --wait "
				 "or --suspend");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, ERR_USAGE,
				 "-i requires a terminal as standard input and output");
	return 0;
}

static void print_nothing(void *ctx, const char *line)
{
}

/* The terminal may be raw, and does not go to the first column by itself. */
static void print_note(void *ctx, const char *line)
{
	cleanup_arena struct arena arena = { 0 };
	const struct viewer *v = ctx;

	if (v->quiet)
		return;
	fprintf(stderr, "\r%s\r\n", str_visible(&arena, line, false));
}

static void print_bytes(void *ctx, const char *data, size_t len)
{
	(void)!file_write_fd(STDOUT_FILENO, data, len, "the terminal", IGNORED);
}

static bool has_word(const cJSON *words, const char *text)
{
	const cJSON *word;

	json_each(word, words)
		if (cJSON_IsString(word) && strstr(word->valuestring, text))
			return true;
	return false;
}

static const char *processes(const cJSON *container)
{
	const cJSON *variable;

	json_each(variable, container_env(container))
		if (str_eq(podspec_element_name(variable), "PET_NPROC_PER_NODE"))
			return json_str(variable, "value");
	return NULL;
}

/* Does torchrun start several processes? A plain command is one. */
static int check_launcher(const cJSON *container, struct error *err)
{
	const cJSON *const words[] = { container_command(container),
				       container_args(container) };
	const char *n = processes(container);

	for (size_t i = 0; n && !str_eq(n, "1") && i < N_ELEMENTS(words); i++)
		if (has_word(words[i], "torchrun") ||
		    has_word(words[i], "torch.distributed"))
			return error_set(err, ERR_UNSUPPORTED,
					 "-i takes one process, and torchrun starts "
					 "several (PET_NPROC_PER_NODE is %s): add "
					 "--nproc-per-node 1, or run python3 instead",
					 n);
	return 0;
}

/* The container of the only pod that is no initializer's. */
static int find_container(cJSON **ret, cJSON *objects, struct error *err)
{
	int64_t pods = 0;
	cJSON *o, *rjob;

	*ret = NULL;
	json_each(o, objects) {
		if (!str_eq(meta_kind(o), JOBSET_KIND))
			continue;
		json_each(rjob, jobset_jobs(json_get(o, "spec"))) {
			cJSON *list = pod_containers(rjob_pod_spec(rjob));
			const char *step = rjob_ancestor(rjob);

			if (str_eq(step, DATASET_INITIALIZER) ||
			    str_eq(step, MODEL_INITIALIZER))
				continue;
			pods += rjob_pods(rjob) * cJSON_GetArraySize(list);
			*ret = list ? list->child : NULL;
		}
	}
	if (pods == 1)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "-i takes one process, and this job has %lld containers: use "
			 "--nodes 1, and a runtime with one step",
			 (long long)pods);
}

int interactive_plan(struct local_run_opts *run, cJSON *objects, struct error *err)
{
	cJSON *container;

	if (!run->terminal)
		return 0;
	if (find_container(&container, objects, err) || check_launcher(container, err))
		return -1;
	json_put_bool(container, true, "stdin");
	json_put_bool(container, true, "tty");
	run->observer.on_progress = print_nothing;
	run->observer.on_note = print_note;
	run->observer.on_line = NULL;
	run->observer.on_state = NULL;
	run->observer.on_pause = NULL;
	run->observer.on_bytes = print_bytes;
	return 0;
}
