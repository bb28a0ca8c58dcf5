/*
 * command.h - programs of others as witnesses, in a folder of the test's own.
 */
#ifndef TESTS_UNIT_COMMAND_H
#define TESTS_UNIT_COMMAND_H

#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/unit/unit.h"

enum { COMMAND_TEXT = 64 * 1024 };

struct command {
	char dir[64];
	char text[COMMAND_TEXT]; /* what the last one printed, errors too */
};

/* sh -c, in the folder: its exit status. */
static inline int command_status(struct command *c, const char *line)
{
	cleanup_arena struct arena a = { 0 };
	FILE *f = popen(
		arena_printf(&a, "cd %s && { %s; } 2>&1 </dev/null", c->dir, line), "r");
	size_t n;
	int status;

	assert_non_null(f);
	n = fread(c->text, 1, sizeof(c->text) - 1, f);
	c->text[n] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The test fails when it does. */
static inline void command_run(struct command *c, const char *line)
{
	int status = command_status(c, line);

	if (status)
		fail_msg("%s: exit status %d\n%s", line, status, c->text);
}

/* Skips the test when `program` is not installed. */
static inline void command_setup(struct command *c, const char *program)
{
	cleanup_arena struct arena a = { 0 };

	snprintf(c->dir, sizeof(c->dir), "/tmp");
	if (command_status(c, arena_printf(&a, "command -v %s", program))) {
		printf("# skip: %s is not installed\n", program);
		skip();
	}
	snprintf(c->dir, sizeof(c->dir), "/tmp/net-test-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
}

static inline void command_file(struct command *c, const char *name, const char *text)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	assert_int_equal(
		file_write(path_join(&a, c->dir, name), text, strlen(text), 0600, &err),
		0);
}

/* free() it. */
static inline char *command_read(struct command *c, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	struct buf b = { .max = COMMAND_TEXT };
	struct error err = { 0 };

	assert_int_equal(file_read(&b, path_join(&a, c->dir, name), &err), 0);
	buf_add(&b, "", 0);
	return (char *)b.data;
}

static inline void command_release(struct command *c)
{
	struct error err = { 0 };

	assert_int_equal(dir_remove(c->dir, &err), 0);
}

#endif
