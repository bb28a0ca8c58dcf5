/* Code in a TrainJob's command: every byte arrives, in arguments that Linux takes. */
#include "tests/unit/spec/spec_test.h"

#include "spec/job.h"
#include "spec/script.h"
#include "trainer/trainjob.h"

enum { FIRST_PIECE = 6, LINUX_ARGUMENT_MAX = 128 * 1024 };

static const cJSON *words_of(const cJSON *job)
{
	return json_get(job, "spec", "trainer", "command");
}

static int put(cJSON *job, const char *path, char **args, struct error *err)
{
	const struct job_opts opts = { .script = path, .command = args };

	return script_put(job, &opts, err);
}

static const char *word(const cJSON *words, int i)
{
	return cJSON_GetStringValue(cJSON_GetArrayItem(words, i));
}

TEST(script_becomes_words_of_the_command)
{
	char option[] = "--epochs", value[] = "3";
	char *args[] = { option, value, NULL };
	cleanup_json cJSON *job = tj_new("j", "r");
	struct error err = { 0 };
	const cJSON *words;

	write_text("train.py", "print('$(A) $$')\n");
	assert_int_equal(put(job, "./train.py", args, &err), 0);
	words = words_of(job);
	assert_string_equal(word(words, 0), "sh");
	assert_string_equal(word(words, 3), "train.py");
	assert_string_equal(word(words, 4), "text");
	assert_string_equal(word(words, 5), "1");
	/* as it stands in a pod: Kubernetes takes one of two dollars */
	assert_string_equal(word(words, FIRST_PIECE), "print('$$(A) $$$')\n");
	assert_string_equal(word(words, FIRST_PIECE + 1), "--epochs");
	assert_string_equal(word(words, FIRST_PIECE + 2), "3");
	assert_null(word(words, FIRST_PIECE + 3));
}

/* Of two-byte characters no piece holds half of one. */
TEST(test_pieces)
{
	cleanup_json cJSON *job = tj_new("j", "r");
	cleanup_buf struct buf code = { .max = SCRIPT_MAX }, got = { .max = SCRIPT_MAX };
	struct error err = { 0 };
	int64_t n;

	buf_adds(&code, "#");
	while (code.len < 2 * SCRIPT_PIECE)
		buf_adds(&code, "\xc3\xa9");
	write_file("long.py", code.data, code.len);
	assert_int_equal(put(job, "long.py", NULL, &err), 0);
	assert_int_equal(str_int(&n, word(words_of(job), 5), 0, 9, &err), 0);
	assert_int_equal(n, 3);
	for (int i = 0; i < n; i++) {
		const char *piece = word(words_of(job), FIRST_PIECE + i);

		assert_true(strlen(piece) < LINUX_ARGUMENT_MAX);
		assert_true(utf8_valid((const unsigned char *)piece, strlen(piece)));
		buf_adds(&got, piece);
	}
	assert_int_equal(got.len, code.len);
	assert_memory_equal(got.data, code.data, code.len);
}

TEST(test_bytes)
{
	cleanup_json cJSON *job = tj_new("j", "r");
	struct error err = { 0 };

	write_file("latin.py", "\xe9\0", 2);
	assert_int_equal(put(job, "latin.py", NULL, &err), 0);
	assert_string_equal(word(words_of(job), 4), "base64");
	assert_string_equal(word(words_of(job), FIRST_PIECE), "6QA=");
}

TEST(test_refused)
{
	static char large[SCRIPT_MAX + 1];
	cleanup_json cJSON *job = tj_new("j", "r");
	struct error err = { 0 };

	memset(large, '#', sizeof(large));
	write_file("large.py", large, sizeof(large));
	assert_int_equal(put(job, "large.py", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(put(job, "missing.py", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

/* The launcher's own code ends the command; it starts "$d/$0", the script. */
TEST(test_launcher)
{
	const struct job_opts opts = { .script = "train.py",
				       .launch = LAUNCH_ACCELERATE };
	cleanup_json cJSON *job = tj_new("j", "r");
	struct error err = { 0 };

	write_text("train.py", "pass\n");
	assert_int_equal(script_put(job, &opts, &err), 0);
	assert_non_null(strstr(word(words_of(job), 2), "exec accelerate launch"));
	assert_null(strstr(word(words_of(job), 2), "torchrun"));
}

RUN_TESTS(enter_folder, leave_folder)
