#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kubelet/procid.h"
#include "tests/unit/unit.h"

enum { FIELDS = 5 }; /* of an id: number, PID namespace, start, boot, host */
enum { NUMBER, NAMESPACE, START, BOOT, HOST };

/* Our own id with one field or two changed. */
static enum procid_state find(int which, const char *value, int also, const char *other,
			      int *ret_pid, char host[PROCID_HOST_SIZE])
{
	char self[PROCID_SIZE], text[2 * PROCID_SIZE], *save = NULL;
	int i = 0, len = 0;

	procid_self(self);
	for (char *word = strtok_r(self, " ", &save); word;
	     word = strtok_r(NULL, " ", &save), i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
				i == which  ? value
				: i == also ? other
					    : word);
	assert_int_equal(i, FIELDS);
	return procid_find(text, ret_pid, host);
}

TEST(test_an_id_of_something_else)
{
	static const struct {
		int which;
		const char *value;
		int also;
		const char *other;
		enum procid_state want;
	} rows[] = {
		{ -1, NULL, -1, NULL, PROCID_RUNNING },
		{ START, "1", -1, NULL, PROCID_ENDED }, /* a recycled number */
		{ START, "0", -1, NULL, PROCID_ENDED },
		{ BOOT, "another", -1, NULL, PROCID_ENDED }, /* before a reboot */
		{ BOOT, "another", HOST, "far", PROCID_OTHER_HOST },
		{ BOOT, "another", NAMESPACE, "1", PROCID_ENDED },
		{ HOST, "renamed", -1, NULL, PROCID_RUNNING }, /* the boot says which */
		{ NAMESPACE, "1", -1, NULL, PROCID_OTHER_NAMESPACE },
		{ NUMBER, "1", -1, NULL, PROCID_ENDED }, /* init, not this process */
		{ NUMBER, "0", -1, NULL, PROCID_UNREADABLE },
		{ NUMBER, "-1", -1, NULL, PROCID_UNREADABLE },
		{ NUMBER, "2147483646", -1, NULL, PROCID_ENDED },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char host[PROCID_HOST_SIZE] = "";
		int pid = 0;

		assert_int_equal(find(rows[i].which, rows[i].value, rows[i].also,
				      rows[i].other, &pid, host),
				 rows[i].want);
		assert_true(rows[i].want != PROCID_RUNNING || pid == getpid());
		assert_true(rows[i].want != PROCID_OTHER_HOST || !strcmp(host, "far"));
	}
}

TEST(test_what_is_no_id)
{
	static const char *const texts[] = { "",      "x",          "7",
					     "7 8 9", "7 8 9 boot", "pid 8 9 boot host" };
	char host[PROCID_HOST_SIZE];
	int pid;

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		assert_int_equal(procid_find(texts[i], &pid, host), PROCID_UNREADABLE);
}

TEST(test_a_process_that_has_ended)
{
	char text[PROCID_SIZE] = "", host[PROCID_HOST_SIZE];
	int pipe_[2], pid, found;

	assert_int_equal(pipe(pipe_), 0);
	pid = fork();
	if (!pid) {
		procid_self(text);
		_exit(write(pipe_[1], text, sizeof(text)) != sizeof(text));
	}
	assert_int_equal(read(pipe_[0], text, sizeof(text)), sizeof(text));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procid_find(text, &found, host), PROCID_ENDED);
	close(pipe_[0]);
	close(pipe_[1]);
}

RUN_TESTS(NULL, NULL)
