/* Lines of libraries that say how many processes a job has; two that are alone. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "logtext/alone.h"

TEST(test_sizes)
{
	static const struct {
		const char *line;
		int size;
	} rows[] = {
		{ "rank 0 of 1", 1 },
		{ "Rank 0/1 on host", 1 },
		{ "rank 0 of 4 is up", 4 },
		{ "world size: 1", 1 },
		{ "[INFO] WORLD_SIZE=2, RANK=0", 2 },
		{ "Num processes: 1", 1 }, /* accelerate's state */
		{ "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2", 2 },
		{ "Process rank: 0, device: cpu, n_gpu: 0, distributed training: False",
		  1 },
		{ "ncclCommInitRank comm 0x1 rank 0 nranks 16 cudaDev 0", 16 },
		{ "JAX process 0 of 1", 1 },
		{ "JAX process: 0 / 1", 1 }, /* Flax's examples */
		{ "jax.process_count() = 1", 1 },
		{ "process_count: 8", 8 },
		{ "Discovered MPI settings of world_rank=0, local_rank=0, world_size=1, "
		  "master_addr=10.0.0.1",
		  1 },                                /* DeepSpeed */
		{ "GLOBAL_RANK: 0, MEMBER: 1/1", 1 }, /* Lightning */
		{ "  global_world_sizes=[1]", -1 },   /* torchrun's agent */
		{ "world size: 12", 12 },
		{ "model parallel world size: 1", -1 },
		{ "group rank 0 of 1", -1 },
		{ "rank 0 of 1.5", -1 },
		{ "world size is large", -1 },
		{ "rank 3 of 4", -1 },
		{ "loss 1.0", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (alone_world_size(rows[i].line, strlen(rows[i].line)) != rows[i].size)
			fail_msg("%s", rows[i].line);
}

/* Lines "PREFIX|TEXT"; does the last one complete the sign? */
static bool seen(const char *const *lines, size_t n, char text[ALONE_TEXT_SIZE])
{
	struct alone a = { 0 };
	bool ret = false;

	for (size_t i = 0; i < n; i++) {
		const char *bar = strchr(lines[i], '|');
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "%.*s", (int)(bar - lines[i]), lines[i]);
		assert_false(ret);
		ret = alone_line(&a, prefix, bar + 1, strlen(bar + 1));
	}
	snprintf(text, ALONE_TEXT_SIZE, "%s", a.text);
	return ret;
}
#define SEEN(text, ...)                            \
	seen((const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), text)

TEST(test_two_that_are_alone)
{
	char text[ALONE_TEXT_SIZE];

	assert_true(
		SEEN(text, "node-0|rank 0 of 1", "node-0|step 1", "node-1|rank 0 of 1"));
	assert_non_null(strstr(text, "node-0 and node-1"));
	assert_non_null(strstr(text, "\"rank 0 of 1\""));
	assert_non_null(strstr(text, "torchrun"));
	assert_false(SEEN(text, "node-0|rank 0 of 1", "node-0|rank 0 of 1"));
	assert_false(SEEN(text, "node-0|rank 0 of 1", "node-1|step 1"));
	assert_false(SEEN(text, "node-0|world size 2", "node-0|rank 0 of 1",
			  "node-1|rank 0 of 1"));
	assert_false(SEEN(text, "node-0|rank 0 of 1", "node-0|world size 2",
			  "node-1|rank 0 of 1"));
}

TEST(test_hostile_lines)
{
	static char line[70000];
	struct alone a = { 0 };

	memset(line, '9', sizeof(line));
	assert_false(alone_line(&a, "node-0", line, sizeof(line)));
	memcpy(line, "rank 0 of 1 \xc3\xa9", 14);
	memset(line + 14, '\xff', sizeof(line) - 14);
	assert_false(alone_line(&a, "node-0", line, sizeof(line)));
	assert_true(alone_line(&a, "node-1", line, sizeof(line)));
}

RUN_TESTS(NULL, NULL)
