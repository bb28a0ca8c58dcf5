/* compiling.c - find a compiler among the pods' processes (kubelet/compiling.h). */
#include "kubelet/compiling.h"

#include <dirent.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/pod.h"
#include "kubelet/procid.h"

enum { MAX_DEPTH = 64, MAX_WORDS = 64 * 1024 };

/* As /proc/PID/comm has them: of GCC, clang, CUDA, ROCm; ninja starts all of them. */
static const char *const compilers[] = {
	"cc1",      "cc1plus", "clang", "clang++", "nvcc",  "cicc", "ptxas",
	"cudafe++", "hipcc",   "lto1",  "rustc",   "ninja", NULL,
};
static const char *const sources[] = { ".cpp", ".cc",  ".cxx", ".c",  ".cu",
				       ".ptx", ".hip", ".rs",  ".ii", NULL };

static const struct pod *pod_of_init(const struct kubelet *k, int pid)
{
	for (const struct pod *pod = k->pods; pod; pod = pod->next)
		for (size_t i = 0; i < pod->n; i++)
			if (process_alive(&pod->containers[i].process) &&
			    pod->containers[i].process.init_pid == pid)
				return pod;
	return NULL;
}

/* The pod whose process it is, or NULL. */
static const struct pod *pod_of(const struct kubelet *k, int pid)
{
	const struct pod *pod = NULL;

	for (int depth = 0; pid > 1 && !pod && depth < MAX_DEPTH; depth++) {
		pod = pod_of_init(k, pid);
		pid = procid_parent(pid);
	}
	return pod;
}

static bool is_source(const char *word)
{
	for (const char *const *end = sources; *end; end++)
		if (str_ends(word, *end))
			return *word != '-';
	return false;
}

/* The name of the file that the process compiles, or that of the process itself. */
static const char *what(struct arena *a, int pid, const char *comm)
{
	cleanup_buf struct buf words = { .max = MAX_WORDS };
	const char *word, *end;

	if (file_read(&words, arena_printf(a, "/proc/%d/cmdline", pid), IGNORED) ||
	    !words.len)
		return comm;
	word = (const char *)words.data;
	for (end = word + words.len; word < end;
	     word += strnlen(word, (size_t)(end - word)) + 1)
		if (memchr(word, 0, (size_t)(end - word)) && is_source(word))
			return str_visible(a, path_base(word), false);
	return comm;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

const char *kubelet_compiling(const struct kubelet *k, struct arena *a,
			      const char **ret_file)
{
	__attribute__((cleanup(close_dir))) DIR *all = opendir("/proc");
	const char *found = NULL, *file;
	const struct dirent *e;
	int64_t pid;

	while (all && (e = readdir(all))) {
		const char *comm;
		const struct pod *pod;

		if (str_int(&pid, e->d_name, 1, INT32_MAX, IGNORED))
			continue;
		comm = file_first_line(a, arena_printf(a, "/proc/%s/comm", e->d_name));
		if (!str_in(comm, compilers) || !(pod = pod_of(k, (int)pid)))
			continue;
		file = what(a, (int)pid, comm);
		if (!found || file != comm) {
			found = pod->name;
			*ret_file = file;
		}
		if (file != comm)
			break;
	}
	return found;
}
