/*
 * A run directory of any bytes: it is read or refused with a text, its job has a valid name,
 * and it is one of the list. The input: report.json, job.yaml, events.jsonl, metrics.jsonl
 * and a log, with a NUL between them.
 */
#include "history/history.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/names.h"
#include "base/file.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#define RUN "run/attempts/1/logs"

static char top[] = "/tmp/kft-fuzz-history-XXXXXX";
static bool made;

static void remove_top(void)
{
	FUZZ_CHECK(!dir_remove(top, IGNORED));
}

static void make(struct arena *a)
{
	if (made)
		return;
	FUZZ_CHECK(mkdtemp(top) && !atexit(remove_top));
	FUZZ_CHECK(!setenv("TMPDIR", top, 1));
	FUZZ_CHECK(!dir_make(path_join(a, top, RUN), 0700, IGNORED));
	made = true;
}

static void put(struct arena *a, const char *name, const void *data, size_t len)
{
	int fd = open(path_join(a, top, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static void put_files(struct arena *a, const uint8_t *data, size_t size)
{
	static const char *const names[] = { "run/report.json", "run/job.yaml",
					     "run/attempts/1/events.jsonl",
					     "run/attempts/1/metrics.jsonl",
					     RUN "/0.log.zst" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const uint8_t *end = size ? memchr(data, 0, size) : NULL;
		size_t len =
			end && i + 1 < N_ELEMENTS(names) ? (size_t)(end - data) : size;

		put(a, names[i], data, len);
		data += len < size ? len + 1 : len;
		size -= len < size ? len + 1 : len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *runs = NULL;
	cleanup_history struct history *s = NULL;
	cleanup_history_origin struct history_origin origin = { 0 };
	struct history_conf conf = { 0 };
	struct error err = { 0 };

	make(&a);
	conf.uri = arena_printf(&a, "file://%s/run", top);
	put_files(&a, data, size);
	FUZZ_CHECK(!history_list(&runs, &conf, &err) && cJSON_GetArraySize(runs) == 1);
	FUZZ_CHECK(json_str((const cJSON *)runs->child, "uri"));
	if (history_open(&s, &conf, &err))
		FUZZ_CHECK(err.msg[0] && !s);
	else
		FUZZ_CHECK(!name_subdomain_invalid(history_names(s)[0]));
	if (s && history_logs(s, history_names(s)[0], &err))
		FUZZ_CHECK(err.msg[0]);
	err = (struct error){ 0 };
	if (history_origin(&origin, &conf, &err))
		FUZZ_CHECK(err.msg[0]);
	else
		FUZZ_CHECK(cJSON_IsObject(origin.trainjob));
	return 0;
}
