/* carry.c - copy this program for a pod's other containers (trainer/carry.h). */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "trainer/carry.h"

enum { PROGRAM_MAX = 64 * 1024 * 1024 };

struct carry_opts {
	const char *to;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "to", "DIR", "target directory; created if it does not exist",
		struct carry_opts, to),
	{ .type = OPT_END },
};

static int copy_self(const char *path, struct error *err)
{
	cleanup_buf struct buf program = { .max = PROGRAM_MAX };

	if (file_read(&program, "/proc/self/exe", err))
		return -1;
	return file_write(path, program.data, program.len, 0755, err);
}

/* Replace an existing link atomically: other containers always find the program. */
static int link_to_program(struct arena *arena, const char *path, struct error *err)
{
	const char *temp = arena_printf(arena, "%s.%ld", path, (long)getpid());

	unlink(temp);
	if (symlink(CARRY_PROGRAM, temp))
		return error_errno(err, errno, "%s", path);
	if (!rename(temp, path))
		return 0;
	error_errno(err, errno, "%s", path);
	unlink(temp);
	return -1;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct carry_opts *o = values;
	cleanup_arena struct arena arena = { 0 };
	const char *const *link = carry_links;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!o->to)
		return error_set(err, ERR_USAGE, "--to is required");
	if (dir_make(o->to, 0755, err) ||
	    copy_self(path_join(&arena, o->to, CARRY_PROGRAM), err))
		return -1;
	for (; *link; link++)
		if (link_to_program(&arena, path_join(&arena, o->to, *link), err))
			return -1;
	printf("carry: copied kftrainer " VERSION " to %s\n", o->to);
	return EXIT_OK;
}

const struct cmd cmd_runtime_carry = {
	.name = "carry",
	.args = "--to DIR",
	.summary = "copy this program for the other containers of a pod",
	.about =
		"Copies its own executable to the directory, as kftrainer, with the links\n"
		"mpi-launch and mpi-worker. The init container that the controller adds to pods\n"
		"of MPI jobs runs it. An existing copy is replaced atomically.",
	.example = "kftrainer runtime carry --to bin",
	.opts = opts_table,
	.opts_size = sizeof(struct carry_opts),
	.flags = CMD_IN_POD | CMD_HIDDEN,
	.run = run,
};
