/*
 * An uploads.jsonl of any bytes: an upload found in it has an id that a request can hold, and
 * what is added is found when it is read again, whatever stands before it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "store/target.h"
#include "store/upload_log.h"
#include "tests/fuzz/fuzz.h"

#define OBJECT "s3://bucket/key"

static char dir[] = "/tmp/kft-fuzz-uploads-XXXXXX";

static void remove_dir(void)
{
	FUZZ_CHECK(!dir_remove(dir, IGNORED));
}

static void write_log(const uint8_t *data, size_t size)
{
	static int state = -1;
	int fd;

	if (state < 0) {
		FUZZ_CHECK(mkdtemp(dir) && !atexit(remove_dir));
		fd = open(dir, O_RDONLY | O_DIRECTORY);
		FUZZ_CHECK(fd >= 0 && !mkdirat(fd, TARGET_STATE, 0755));
		state = openat(fd, TARGET_STATE, O_RDONLY | O_DIRECTORY);
		close(fd);
	}
	fd = openat(state, "uploads.jsonl", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct upload_log log;
	const char *id;

	write_log(data, size);
	upload_log_open(&log, dir);
	FUZZ_CHECK(log.fd >= 0);
	map_each(e, &log.ids) {
		id = upload_log_find(&log, e->key);
		FUZZ_CHECK(id && *id && strlen(id) <= 2048);
		for (const char *p = id; *p; p++)
			FUZZ_CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
	}
	upload_log_add(&log, OBJECT, "new");
	upload_log_close(&log, false);
	upload_log_open(&log, dir);
	id = upload_log_find(&log, OBJECT);
	FUZZ_CHECK(id && !strcmp(id, "new"));
	upload_log_close(&log, true);
	return 0;
}
