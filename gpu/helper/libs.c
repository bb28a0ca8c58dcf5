/* libs.c - find and call NVIDIA's libraries (gpu/helper/helper.h). */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/helper/helper.h"

enum { MAX_DIRS = 32 };

static const char *const names[N_LIBRARIES][3] = {
	[CUDA] = { "libcuda.so.1" },
	[CUDART] = { "libcudart.so.13", "libcudart.so.12" },
	[NVML] = { "libnvidia-ml.so.1" },
	[NCCL] = { "libnccl.so.2" },
};

static void note(struct helper *h, const char *library, const char *call)
{
	snprintf(h->shared->library, GPU_NAME_SIZE, "%s", library);
	snprintf(h->shared->call, GPU_NAME_SIZE, "%s", call);
	__atomic_add_fetch(&h->shared->calls, 1, __ATOMIC_RELEASE);
}

/* ---- find a library ------------------------------------------------------------------ */

/* Open the first file that matches the pattern. *why: its dlerror(), if it failed. */
static void *open_matching(const char *pattern, const char **why)
{
	glob_t found;
	void *library = NULL;

	if (glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = 0; i < found.gl_pathc && !library; i++) {
		library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
		if (!library)
			*why = dlerror();
	}
	globfree(&found);
	return library;
}

static void *open_in(const char *dir, int len, const char *name, const char **why)
{
	char pattern[PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%.*s/%s", len, dir, name);
	return open_matching(pattern, why);
}

/* Try the directories of a colon-separated list. */
static void *open_in_list(const char *list, const char *name, const char **why)
{
	void *library = NULL;

	while (list && *list && !library) {
		size_t len = strcspn(list, ":");

		if (len)
			library = open_in(list, (int)len, name, why);
		list += len + (list[len] == ':');
	}
	return library;
}

/* Try the wheels of a python3: PREFIX/bin/python3, PREFIX/lib/python3.N/... */
static void *open_in_wheels(const char *python, const char *name, const char **why)
{
	static const char *const places[] = {
		"lib/python3*/site-packages",
		"lib/python3*/dist-packages",
		"local/lib/python3*/dist-packages",
		"lib/python3/dist-packages",
	};
	char dir[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !library; i++) {
		const char *slash = strrchr(python, '/');

		snprintf(dir, sizeof(dir), "%.*s/../%s/nvidia/*/lib",
			 (int)(slash - python), python, places[i]);
		library = open_in(dir, (int)strlen(dir), name, why);
	}
	return library;
}

/* Packages of a venv precede those of the Python to which its python3 is a link. */
static void *open_by_python(const char *name, const char **why)
{
	const char *path = getenv("PATH");
	char python[PATH_MAX], real[PATH_MAX];
	void *library;

	while (path && *path) {
		size_t len = strcspn(path, ":");

		snprintf(python, sizeof(python), "%.*s/python3", (int)len, path);
		path += len + (path[len] == ':');
		if (access(python, X_OK))
			continue;
		library = open_in_wheels(python, name, why);
		return library || !realpath(python, real)
			       ? library
			       : open_in_wheels(real, name, why);
	}
	return NULL;
}

static void *open_name(const char *name, const char **why)
{
	static const char *const dirs[] = { "/usr/local/nvidia/lib64",
					    "/usr/local/cuda*/lib64" };
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (library)
		return library;
	*why = dlerror();
	library = open_in_list(getenv("LD_LIBRARY_PATH"), name, why);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs) && !library; i++)
		library = open_in(dirs[i], (int)strlen(dirs[i]), name, why);
	return library ? library : open_by_python(name, why);
}

/* ---- functions ------------------------------------------------------------------- */

static void resolve(struct helper *h, enum library library)
{
#define GPU_RESOLVE(of, type, name, parameters) \
	if (library == of)                      \
		h->f.name = (type(*) parameters)(uintptr_t)dlsym(h->library[of], #name);
	GPU_CALLS(GPU_RESOLVE)
}

int lib_open(struct helper *h, enum library library)
{
	const char *why = NULL;
	char first[300] = "";

	for (size_t i = 0; names[library][i] && !h->library[library]; i++) {
		note(h, names[library][i], "dlopen");
		h->library[library] = open_name(names[library][i], &why);
		if (!*first && why)
			snprintf(first, sizeof(first), "%s", why);
	}
	if (!h->library[library])
		return reply_error(h, GPU_NO_LIBRARY, first, 0);
	resolve(h, library);
	return 0;
}

const char *lib_path(struct helper *h, enum library library)
{
	struct link_map *map = NULL;

	if (!h->library[library] || dlinfo(h->library[library], RTLD_DI_LINKMAP, &map))
		return "";
	return map->l_name;
}

bool call_begin(struct helper *h, enum library library, const char *name, bool present)
{
	note(h, names[library][0], name);
	if (!present)
		reply_error(h, GPU_NO_SYMBOL, "symbol not found", 0);
	return present;
}

static const char *error_text(struct helper *h, enum library library, int code)
{
	const char *text = NULL;

	if (library == CUDA && h->f.cuGetErrorString)
		h->f.cuGetErrorString(code, &text);
	else if (library == NVML && h->f.nvmlErrorString)
		text = h->f.nvmlErrorString(code);
	else if (library == NCCL && h->f.ncclGetErrorString)
		text = h->f.ncclGetErrorString(code);
	return text ? text : "unknown error";
}

int call_result(struct helper *h, enum library library, int code)
{
	return code ? reply_error(h, GPU_FAILED, error_text(h, library, code), code) : 0;
}
