/*
 * Patterns against paths, and against git itself: the same files and patterns in a
 * repository, listed by `git ls-files`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "pack/ignore.h"
#include "tests/unit/base/base_test.h"

static const struct row {
	const char *patterns, *path;
	bool is_dir, ignored;
} rows[] = {
	{ "", "a", false, false },
	{ "a", "a", false, true },
	{ "a", "b/a", false, true },
	{ "a", "ab", false, false },
	{ "/a", "a", false, true },
	{ "/a", "b/a", false, false },
	{ "a/", "a", false, false },
	{ "a/", "a", true, true },
	{ "a/", "b/a", true, true },
	{ "a/b", "a/b", false, true },
	{ "a/b", "c/a/b", false, false },
	{ "a/b/", "a/b", true, true },
	{ "a/b/", "a/b", false, false },
	{ "*.pyc", "x.pyc", false, true },
	{ "*.pyc", "d/x.pyc", false, true },
	{ "*.pyc", "x.py", false, false },
	{ "d/*.pyc", "d/x.pyc", false, true },
	{ "d/*.pyc", "d/e/x.pyc", false, false },
	{ "*", "a", false, true },
	{ "?", "a", false, true },
	{ "?", "ab", false, false },
	{ "a?b", "axb", false, true },
	{ "/a?b", "a/b", false, false },
	{ "**/foo", "foo", false, true },
	{ "**/foo", "a/b/foo", false, true },
	{ "**/foo", "a/bfoo", false, false },
	{ "**/foo/bar", "x/foo/bar", false, true },
	{ "abc/**", "abc", true, false },
	{ "abc/**", "abc/x", false, true },
	{ "abc/**", "abc/x/y", false, true },
	{ "a/**/b", "a/b", false, true },
	{ "a/**/b", "a/x/b", false, true },
	{ "a/**/b", "a/x/y/b", false, true },
	{ "a/**/b", "a/xb", false, false },
	{ "a/**/b", "ab", false, false },
	{ "a/**b", "a/xb", false, true },
	{ "a/**b", "a/x/b", false, false },
	{ "a**b", "axxb", false, true },
	{ "**", "a/b", false, true },
	{ "/**", "a/b", false, true },
	{ "/***/b", "x/b", false, true },
	{ "a*b*c", "aXbXc", false, true },
	{ "a*b*c", "aXcXb", false, false },
	{ "[ab]c", "ac", false, true },
	{ "[!ab]c", "ac", false, false },
	{ "[^ab]c", "xc", false, true },
	{ "[a-c]", "b", false, true },
	{ "[a-c]", "d", false, false },
	{ "[c-a]", "b", false, false },
	{ "[]]", "]", false, true },
	{ "[]-]", "-", false, true },
	{ "[!]]", "]", false, false },
	{ "[[:digit:]x]", "7", false, true },
	{ "[[:digit:]x]", "x", false, true },
	{ "[[:digit:]x]", "y", false, false },
	{ "[[:nosuch:]]", "n", false, false },
	{ "[a", "[a", false, false },
	{ "[\\]]", "]", false, true },
	{ "a[/]b", "a/b", false, false },
	{ "\\#a", "#a", false, true },
	{ "#a", "#a", false, false },
	{ "\\!a", "!a", false, true },
	{ "a\\*", "a*", false, true },
	{ "a\\*", "ab", false, false },
	{ "a\\", "a\\", false, false },
	{ "a  ", "a", false, true },
	{ "a\\ ", "a ", false, true },
	{ "a\t", "a", false, false },
	{ "a b", "a b", false, true },
	{ "a\r\n", "a", false, true },
	{ "a\r", "a", false, true },
	{ "\xef\xbb\xbf"
	  "a",
	  "a", false, true },
	{ "a\n!a", "a", false, false },
	{ "!a\na", "a", false, true },
	{ "*\n!a", "a", false, false },
	{ "!", "a", false, false },
	{ "/", "a", true, false },
	{ "a//", "a", true, false },
	{ "//a", "a", false, false },
	{ "\n\n \na", "a", false, true },
};

static bool is_out(const struct ignore *ig, const char *path, bool is_dir)
{
	return ignore_ask(ig, path, is_dir) == IGNORE_OUT;
}

TEST(patterns_of_gitignore)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_ignore struct ignore ig = { 0 };
		struct error err = { 0 };
		char name[200];

		snprintf(name, sizeof(name), "'%s' and %s%s", rows[i].patterns,
			 rows[i].path, rows[i].is_dir ? "/" : "");
		assert_int_equal(ignore_add(&ig, "", rows[i].patterns,
					    strlen(rows[i].patterns), &err),
				 0);
		check_int(name, is_out(&ig, rows[i].path, rows[i].is_dir),
			  rows[i].ignored);
	}
}

TEST(test_folders_of_their_own)
{
	cleanup_ignore struct ignore ig = { 0 };
	struct error err = { 0 };
	size_t above;

	assert_int_equal(ignore_add(&ig, "", "*.log\n", 6, &err), 0);
	above = ig.n;
	assert_int_equal(ignore_add(&ig, "a", "!x.log\n/y\n", 10, &err), 0);
	assert_int_equal(ignore_ask(&ig, "a/x.log", false), IGNORE_IN);
	assert_int_equal(ignore_ask(&ig, "a/x.txt", false), IGNORE_NO_MATCH);
	assert_false(is_out(&ig, "a/b/x.log", false));
	assert_true(is_out(&ig, "ab/x.log", false));
	assert_true(is_out(&ig, "a/y", false));
	assert_false(is_out(&ig, "a/b/y", false));
	ig.n = above;
	assert_true(is_out(&ig, "a/x.log", false));
}

TEST(test_time_is_bounded)
{
	cleanup_ignore struct ignore ig = { 0 };
	cleanup_buf struct buf pattern = { .max = 4000 };
	struct error err = { 0 };
	char path[4000];

	while (!pattern.overflowed)
		buf_adds(&pattern, "*a");
	memset(path, 'a', sizeof(path) - 2);
	path[sizeof(path) - 2] = 'b';
	path[sizeof(path) - 1] = 0;
	assert_int_equal(ignore_add(&ig, "", (char *)pattern.data, pattern.len, &err), 0);
	assert_false(is_out(&ig, path, false));
}

TEST(test_too_many)
{
	cleanup_ignore struct ignore ig = { 0 };
	cleanup_buf struct buf text = { .max = IGNORE_MAX_BYTES };
	struct error err = { 0 };

	for (int i = 0; i <= IGNORE_MAX_RULES; i++)
		buf_adds(&text, "a\n");
	assert_int_equal(ignore_add(&ig, "", (char *)text.data, text.len, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

/* ---- git's own answer ---- */

static void touch(const char *dir, const char *path)
{
	cleanup_arena struct arena a = { 0 };
	const char *full = path_join(&a, dir, path);
	struct error err = { 0 };

	assert_int_equal(dir_make(path_dir(&a, full), 0755, &err), 0);
	assert_int_equal(file_write(full, "", 0, 0644, &err), 0);
}

/* Does git ignore that file, by .gitignore alone? */
static bool git_ignores(const char *dir, const char *path)
{
	cleanup_arena struct arena a = { 0 };
	const char *cmd = arena_printf(
		&a,
		"cd %s && git -c core.excludesFile= check-ignore -q --no-index -- '%s'",
		dir, path);

	return system(cmd) == 0;
}

TEST(test_git_agrees)
{
	char dir[] = "/tmp/test-ignore-XXXXXX";
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	if (system("git --version >/dev/null 2>&1") != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(system(arena_printf(&a, "git init -q %s", dir)), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *r = &rows[i];
		const char *path = r->path;

		if (strchr(path, '\'') || strchr(path, '\\'))
			continue;
		if (r->is_dir) /* git asks about what is there */
			touch(dir, path_join(&a, path, "inside"));
		else
			touch(dir, path);
		assert_int_equal(file_write(path_join(&a, dir, ".gitignore"), r->patterns,
					    strlen(r->patterns), 0644, &err),
				 0);
		if (git_ignores(dir, path) != r->ignored)
			fail_msg("git disagrees: '%s' and %s", r->patterns, path);
		assert_int_equal(
			system(arena_printf(&a, "cd %s && rm -rf -- * '#a'", dir)), 0);
	}
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(NULL, NULL)
