/* launch.c - write the command line of a launcher (spec/launch.h). */
#include "spec/launch.h"

#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "spec/job.h"
#include "trainer/launcher.h"

const char *const launch_names[] = { "none",   "accelerate", "deepspeed",
				     "mpirun", "torchrun",   NULL };

/* $n: processes on a node; $gpus: GPUs there. */
#define COUNT(launcher)                                                           \
	": \"${PET_NNODES:?--launcher " launcher " requires a runtime with "      \
	"mlPolicy.torch}\"\n"                                                     \
	"python=python3\n"                                                        \
	"command -v python3 >/dev/null || python=python\n"                        \
	"gpus=$($python -c 'import torch as t\n"                                  \
	"print(getattr(t, \"accelerator\", t.cuda).device_count())') || exit 1\n" \
	"n=${PET_NPROC_PER_NODE:-auto}\n"                                         \
	"case $n in *[!0-9]*) n=$gpus ;; esac\n"                                  \
	"[ \"$n\" -gt 0 ] || n=1\n"

/*
 * Without --multi_gpu, accelerate starts one process if it sees no second GPU, and
 * without ACCELERATE_USE_CPU its processes do not join each other on CPUs.
 */
static const char accelerate[] = COUNT(
	"accelerate") "[ \"$gpus\" -gt 0 ] || export ACCELERATE_USE_CPU=\"${ACCELERATE_USE_CPU-true}\"\n"
		      "n=$((n * PET_NNODES))\n"
		      "case \" $* \" in\n"
		      "*' --multi_gpu '* | *' --use_'* | *' --config_file'* | *' --tpu '*) ;;\n"
		      "*) [ $n -eq 1 ] || set -- --multi_gpu \"$@\" ;;\n"
		      "esac\n"
		      "exec accelerate launch --num_machines \"$PET_NNODES\" --num_processes $n "
		      "--machine_rank \"$PET_NODE_RANK\" --main_process_ip \"$PET_MASTER_ADDR\" "
		      "--main_process_port \"$PET_MASTER_PORT\" \"$@\"\n";

/* The host file says how many processes each node has; --no_ssh reads no names of it. */
static const char deepspeed[] =
	"if [ -z \"${PET_NNODES:-}\" ] && command -v mpirun >/dev/null; then\n"
	"  exec mpirun python3 \"$@\"\n"
	"fi\n" COUNT(
		"deepspeed") "hosts=$(mktemp) || exit 1\n"
			     "i=0\n"
			     "while [ $i -lt \"$PET_NNODES\" ]; do\n"
			     "  echo \"node-$i slots=$n\"\n"
			     "  i=$((i + 1))\n"
			     "done >\"$hosts\"\n"
			     "exec deepspeed --hostfile \"$hosts\" --no_ssh --node_rank \"$PET_NODE_RANK\" "
			     "--master_addr \"$PET_MASTER_ADDR\" --master_port \"$PET_MASTER_PORT\" \"$@\"\n";

const char *launch_code(enum launch which)
{
	return which == LAUNCH_ACCELERATE  ? accelerate
	       : which == LAUNCH_DEEPSPEED ? deepspeed
					   : NULL;
}

static char **after_python(char **words)
{
	if (!*words || !launcher_is_python(*words))
		return words;
	words++;
	while (*words && str_eq(*words, "-u"))
		words++;
	return words;
}

/* deepspeed names -m otherwise. */
static bool is_module(enum launch which, const char *word)
{
	return which == LAUNCH_DEEPSPEED && str_eq(word, "-m");
}

int launch_put(cJSON *trainjob, enum launch which, char **words, struct error *err)
{
	const char *code = launch_code(which), *name = launch_names[which];
	char **first;

	if (!words || !*words)
		return error_set(err, ERR_USAGE,
				 "--launcher requires a command after '--', such as "
				 "train.py");
	first = after_python(words);
	if (code) {
		job_add_word(trainjob, "sh");
		job_add_word(trainjob, "-c");
		job_add_word(trainjob, code);
	}
	job_add_word(trainjob, name);
	if (which == LAUNCH_MPIRUN && first != words)
		job_add_word(trainjob, "python3");
	else if (which == LAUNCH_MPIRUN && *first && str_ends(*first, ".py"))
		job_add_word(trainjob, "python3");
	for (char **word = first; *word; word++)
		job_add_word(trainjob, word == first && is_module(which, *word)
					       ? "--module"
					       : *word);
	return 0;
}
