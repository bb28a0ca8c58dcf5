/*
 * The files of a local run, of any bytes: its TrainJob is read or refused with the file's
 * name, what is read has a state and the run's spec.suspend, and nothing is written. The
 * input: trainjob.json, a NUL, the lock's contents.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state.h"
#include "tests/fuzz/fuzz.h"

#define JOB "kftrainer/jobs/ns/j"
#define RUN JOB "/20260101T000000Z-001"

static char top[] = "/tmp/kft-fuzz-state-XXXXXX";
static bool made;

static void remove_top(void)
{
	FUZZ_CHECK(!dir_remove(top, IGNORED));
}

static void make(struct arena *a)
{
	struct error err = { 0 };

	if (made)
		return;
	FUZZ_CHECK(mkdtemp(top) && !atexit(remove_top));
	FUZZ_CHECK(!setenv("XDG_STATE_HOME", top, 1));
	FUZZ_CHECK(!dir_make(path_join(a, top, RUN), 0700, &err));
	made = true;
}

static void put(struct arena *a, const char *name, const void *data, size_t len)
{
	int fd = open(path_join(a, top, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	cleanup_arena struct arena a = { 0 };
	bool suspended = size && size % 2;

	make(&a);
	put(&a, RUN "/trainjob.json", data, len);
	put(&a, JOB "/lock", end ? end : data, size - len);
	if (suspended)
		put(&a, RUN "/suspended", "", 0);
	else
		unlink(path_join(&a, top, RUN "/suspended"));
	for (int i = 0; i < 2; i++) {
		cleanup_json cJSON *job = NULL;
		struct error err = { 0 };

		if (state_get(&job, "ns", "j", &err)) {
			FUZZ_CHECK(err.msg[0] && !job);
			continue;
		}
		FUZZ_CHECK(cJSON_IsObject(job));
		FUZZ_CHECK(json_str((const cJSON *)job, "status", "state"));
		FUZZ_CHECK(json_bool((const cJSON *)job, false, "spec", "suspend") ==
			   suspended);
	}
	(void)!state_stop("ns", "j", 0, &(struct error){ 0 });
	FUZZ_CHECK(file_exists(path_join(&a, top, RUN "/trainjob.json")));
	return 0;
}
