/*
 * replay.c - run a fuzz target over its corpus, without libFuzzer.
 *
 * `build/san/tests/fuzz/fuzz_X` reads tests/fuzz/corpus/X, or the files that
 * are given. Speaks TAP; before each input its name, so that the last name
 * printed is the one that crashed.
 */
#include <dirent.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 16 * 1024 * 1024 };

static int replay(const char *path)
{
	cleanup_buf struct buf input = { .max = MAX_BYTES };
	struct error err = { 0 };

	printf("# %s\n", path);
	fflush(stdout);
	if (file_read(&input, path, &err)) {
		printf("# %s\n", err.msg);
		return -1;
	}
	LLVMFuzzerTestOneInput(input.data, input.len);
	return 0;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* How many inputs the folder has; -1 when one could not be read. */
static int replay_folder(struct arena *arena, const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, not_hidden, alphasort), failed = n <= 0;

	for (int i = 0; i < n; i++) {
		failed |= replay(path_join(arena, dir, names[i]->d_name));
		free(names[i]);
	}
	free(names);
	return failed ? -1 : n;
}

int main(int argc, char **argv)
{
	cleanup_arena struct arena arena = { 0 };
	const char *target = strstr(path_base(argv[0]), "fuzz_");
	int failed = 0, n = 0;

	printf("1..1\n");
	for (int i = 1; i < argc; i++, n++)
		failed |= replay(argv[i]);
	if (argc == 1 && target) {
		n = replay_folder(&arena, arena_printf(&arena, "tests/fuzz/corpus/%s",
						       target + strlen("fuzz_")));
		failed = n < 0;
	}
	printf("%s 1 - corpus of %d inputs\n", failed ? "not ok" : "ok", n);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
