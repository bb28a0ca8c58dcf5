/* The variables of --env-file and --env, and what is reported of them. */
#include "tests/unit/spec/spec_test.h"

#include "base/json.h"
#include "spec/jobenv.h"

/* Prints them as NAME=VALUE, one a line; or the error. */
static void read_env(char *ret, size_t size, const char *file, const char *option,
		     struct lines *warnings)
{
	const struct reporter to = { add_line, warnings };
	const char *files[] = { file, NULL }, *options[] = { option, NULL };
	struct job_opts opts = { .env_files = { files, file ? 1 : 0 },
				 .env = { options, option ? 1 : 0 } };
	cleanup_json cJSON *list = NULL;
	struct error err = { 0 };
	const cJSON *var;
	size_t n = 0;

	*ret = '\0';
	if (job_env_read(&list, &opts, &to, &err))
		snprintf(ret, size, "%s", err.msg);
	json_each(var, list)
		n += (size_t)snprintf(ret + n, size - n, "%s=%s\n", json_str(var, "name"),
				      json_str(var, "value"));
}

TEST(test_files)
{
	static const struct {
		const char *text, *want;
		size_t warnings;
	} rows[] = {
		{ "", "", 0 },
		{ "\n\n \t\n#x\n  # y", "", 0 },
		{ "A=1", "A=1\n", 0 },
		{ "A=1\nB=\nA=2\n", "A=2\nB=\n", 0 },
		{ "\xef\xbb\xbf"
		  "A=1\r\nB=2\r\n",
		  "A=1\nB=2\n", 0 },
		{ " \tA= 1 \n", "A= 1 \n", 0 },
		{ "A=b=c#d $x \"y\"\n", "A=b=c#d $x \"y\"\n", 0 },
		{ "A=$(B) $$ $\n", "A=$$(B) $$$ $\n", 0 },
		{ "A='x'\nB=\"y\"\nC=\"\nD='a\"\n", "A='x'\nB=\"y\"\nC=\"\nD='a\"\n", 1 },
		{ "HERE\nGONE\n", "HERE=a b\n", 1 },
		{ "a.b-c=1\n", "a.b-c=1\n", 0 },
		{ "exported=1\nexport=2\n", "exported=1\nexport=2\n", 0 },
		{ "A=1\nexport B=2\n", "f.env:2: 'export' is for shells: remove it", 0 },
		{ "A=\"x\nB=\"x\" y\n", "A=\"x\nB=\"x\" y\n", 1 },
		{ "A=1\nMII+x/y\n",
		  "f.env:2: want NAME=VALUE or NAME; a value ends with its line", 0 },
		{ "9A\n", "f.env:1: want NAME=VALUE or NAME; a value ends with its line",
		  0 },
		{ "=x", "f.env:1: the name before '=' is missing", 0 },
		{ "A =x", "f.env:1: a name has only ASCII characters, and no spaces", 0 },
		{ "\n\xc3\xa9=x",
		  "f.env:2: a name has only ASCII characters, and no spaces", 0 },
		{ "A=\xff", "f.env:1: not UTF-8", 0 },
		{ "\xff=1", "f.env:1: not UTF-8", 0 },
	};

	setenv("HERE", "a b", 1);
	unsetenv("GONE");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct lines warnings = { 0 };
		char got[4096];

		write_text("f.env", rows[i].text);
		read_env(got, sizeof(got), "f.env", NULL, &warnings);
		assert_string_equal(got, rows[i].want);
		assert_int_equal(warnings.n, rows[i].warnings);
	}
}

TEST(test_zeros)
{
	struct lines warnings = { 0 };
	char got[4096];

	write_file("f.env", "A=1\nB\0=2\n", 9);
	read_env(got, sizeof(got), "f.env", NULL, &warnings);
	assert_string_equal(got, "f.env:2: a NUL character");
}

TEST(test_options)
{
	static const struct {
		const char *option, *want;
	} rows[] = {
		{ "A=$(B)", "A=$(B)\n" }, /* a variable of the pod */
		{ "HERE", "HERE=$$(x)\n" },
		{ "A=", "A=\n" },
		{ "GONE", "--env GONE: not set in the environment; export it, or pass "
			  "GONE=VALUE" },
		{ "=x",
		  "--env: want NAME=VALUE or NAME: the name before '=' is missing" },
		{ "", "--env: want NAME=VALUE or NAME: the name before '=' is missing" },
		{ "A B=x", "--env: want NAME=VALUE or NAME: a name has only ASCII "
			   "characters, and no spaces" },
	};

	setenv("HERE", "$(x)", 1);
	unsetenv("GONE");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct lines warnings = { 0 };
		char got[4096];

		read_env(got, sizeof(got), NULL, rows[i].option, &warnings);
		assert_string_equal(got, rows[i].want);
		assert_int_equal(warnings.n, 0);
	}
}

RUN_TESTS(enter_folder, leave_folder)
