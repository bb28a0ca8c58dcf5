/* The command lines of --launcher; tests/local/test_stacks_hf.sh runs that of accelerate. */
#include "tests/unit/spec/spec_test.h"

#include "spec/launch.h"
#include "trainer/trainjob.h"

/* The command of these words, without code of sh. In the arena. */
static const char *line_of(struct arena *arena, enum launch which, const char *given)
{
	cleanup_json cJSON *job = tj_new("j", "r");
	const char *line = "";
	struct error err = { 0 };
	const cJSON *word;
	size_t n;
	char **words = str_split(arena, given, ' ', &n);

	assert_int_equal(launch_put(job, which, words, &err), 0);
	json_each(word, tj_command(job))
		line = arena_printf(arena, "%s%s%s", line, *line ? " " : "",
				    strchr(word->valuestring, '\n') ? "CODE"
								    : word->valuestring);
	return line;
}

TEST(test_lines)
{
	static const struct {
		enum launch which;
		const char *given, *line;
	} rows[] = {
		{ LAUNCH_TORCHRUN, "train.py -x", "torchrun train.py -x" },
		{ LAUNCH_TORCHRUN, "python3 -u train.py", "torchrun train.py" },
		{ LAUNCH_TORCHRUN, "python -m pkg.train", "torchrun -m pkg.train" },
		{ LAUNCH_MPIRUN, "train.py", "mpirun python3 train.py" },
		{ LAUNCH_MPIRUN, "python3 train.py", "mpirun python3 train.py" },
		{ LAUNCH_MPIRUN, "./train", "mpirun ./train" },
		{ LAUNCH_ACCELERATE, "--mixed_precision bf16 train.py",
		  "sh -c CODE accelerate --mixed_precision bf16 train.py" },
		{ LAUNCH_ACCELERATE, "python3 -m pkg.train",
		  "sh -c CODE accelerate -m pkg.train" },
		{ LAUNCH_DEEPSPEED, "python3 -m pkg.train",
		  "sh -c CODE deepspeed --module pkg.train" },
		{ LAUNCH_DEEPSPEED, "train.py -m", "sh -c CODE deepspeed train.py -m" },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(line_of(&arena, rows[i].which, rows[i].given),
				    rows[i].line);
}

RUN_TESTS(NULL, NULL)
