/* jobname.c - a job's name where none was given: what its command runs (spec/job.h). */
#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "spec/job.h"

/* Short enough that the names of pods, which begin with it, are valid and readable. */
enum { NAME_MAX_LEN = 40 };

/* Programs that start another, and the words with which they are told to. */
static const char *const launchers[] = {
	"sh",        "bash",       "env",     "exec",   "time",    "nohup",
	"cd",        "python",     "python3", "uv",     "run",     "poetry",
	"torchrun",  "accelerate", "launch",  "mpirun", "mpiexec", "tune",
	"deepspeed", "set",        "export",  "source", "conda",   "mpi-launch",
	"ulimit",    "composer",
};
static const char *const launcher_modules[] = {
	"torch.distributed.run",
	"torch.distributed.launch",
	"accelerate.commands.launch",
	"deepspeed.launcher.runner",
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(word, list[i]))
			return true;
	return false;
}

/* The words of the command; a script for `sh -c` is split into its own. */
static const char **words_of(struct arena *arena, char **command)
{
	static const char ends[] = " \t\r\n;&|<>()\"'`";
	size_t len = 0, n = 0;
	const char **words;

	for (char **arg = command; *arg; arg++)
		len += strlen(*arg) + 1;
	words = arena_alloc(arena, (len + 1) * sizeof(*words));
	for (char **arg = command; *arg; arg++)
		for (const char *p = *arg + strspn(*arg, ends); *p;
		     p += strspn(p, ends)) {
			size_t size = strcspn(p, ends);

			words[n++] = str_slice(arena, p, size);
			p += size;
		}
	words[n] = NULL;
	return words;
}

static const char *script_among(const char **words)
{
	for (; *words; words++)
		if (str_ends(*words, ".py") || str_ends(*words, ".sh"))
			return *words;
	return NULL;
}

/* "pkg.train" of `python -m pkg.train`: "train". */
static const char *module_among(const char **words)
{
	for (; *words && words[1]; words++) {
		const char *module = words[1], *dot = strrchr(module, '.');

		if ((str_eq(*words, "-m") || str_eq(*words, "--module")) &&
		    !is_one_of(module, launcher_modules, N_ELEMENTS(launcher_modules)))
			return dot && dot[1] ? dot + 1 : module;
	}
	return NULL;
}

/* The first word that is no launcher, option, assignment or number. */
static const char *program_among(const char **words)
{
	for (const char **word = words; *word; word++) {
		const char *base = path_base(*word);

		if (str_eq(*word, "-c") && word != words &&
		    str_starts(path_base(word[-1]), "python"))
			return word[-1]; /* Python code, not a name */
		if (isalpha((unsigned char)*base) && **word != '-' &&
		    !strchr(*word, '=') &&
		    !is_one_of(base, launchers, N_ELEMENTS(launchers)))
			return *word;
	}
	return *words;
}

static const char *program_of(struct arena *arena, const struct job_opts *opts)
{
	const char **words, *found;

	if (opts->script)
		return opts->script;
	if (!opts->command || !*opts->command)
		return opts->runtime;
	words = words_of(arena, opts->command);
	found = script_among(words);
	if (!found)
		found = module_among(words);
	if (!found)
		found = program_among(words);
	return found ? found : opts->runtime;
}

const char *job_default_name(struct arena *arena, const struct job_opts *opts)
{
	char *name = arena_strdup(arena, path_base(program_of(arena, opts)));
	char *end = strrchr(name, '.'), *to = name;

	if (end && end != name)
		*end = 0;
	for (const char *c = name; *c && to - name < NAME_MAX_LEN; c++) {
		if (isalnum((unsigned char)*c) &&
		    (to != name || isalpha((unsigned char)*c)))
			*to++ = (char)tolower((unsigned char)*c);
		else if (to != name && to[-1] != '-')
			*to++ = '-';
	}
	while (to > name && to[-1] == '-')
		to--;
	*to = 0;
	return *name ? name : "job";
}
