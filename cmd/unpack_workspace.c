/*
 * unpack_workspace.c - in a training pod, before the job's own command: the folder that
 * was submitted with the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "store/pack.h"

struct unpack_workspace_opts {
	const char *from, *to, *digest;
	bool private, quiet;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "from", "FILE", "the archive (tar in zstd)",
		struct unpack_workspace_opts, from),
	OPT_STR(0, "to", "DIR", "where: a new or empty folder",
		struct unpack_workspace_opts, to),
	OPT_STR(0, "sha256", "HEX", "what the archive has to be",
		struct unpack_workspace_opts, digest),
	OPT_BOOL(0, "private", "others may read what was unpacked, not write it",
		 struct unpack_workspace_opts, private),
	OPT_BOOL('q', "quiet", "say nothing of what went well",
		 struct unpack_workspace_opts, quiet),
	{ .type = OPT_END },
};

static int check(const struct unpack_workspace_opts *o, struct error *err)
{
	if (!o->from || !o->to || !o->digest)
		return error_set(err, ERR_USAGE,
				 "--from, --sha256 and --to say what goes where");
	if (strlen(o->digest) == PACK_DIGEST_SIZE - 1 &&
	    strspn(o->digest, "0123456789abcdef") == PACK_DIGEST_SIZE - 1)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--sha256: '%.80s' is not 64 lower-case hexadecimal digits",
			 o->digest);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct unpack_workspace_opts *o = values;
	const struct unpack_opts how = { .to = o->to,
					 .digest = o->digest,
					 .limits = PACK_LIMITS,
					 .shared = !o->private };
	struct pack_summary summary = { 0 };
	cleanup_fd int fd = -1;
	bool done_before;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (check(o, err))
		return -1;
	fd = open(o->from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_errno(err, errno, "%s", o->from);
	if (unpack_folder(fd, &how, &summary, &done_before, err))
		return -1;
	if (o->quiet)
		return EXIT_OK;
	if (done_before)
		printf("workspace: %s has it already\n", o->to);
	else
		printf("workspace: %lld files and folders, %lld bytes, in %s\n",
		       (long long)summary.entries, (long long)summary.bytes, o->to);
	return EXIT_OK;
}

const struct cmd cmd_runtime_unpack_workspace = {
	.name = "unpack-workspace",
	.args = "",
	.summary = "unpack the folder that came with a TrainJob",
	.about = "What 'submit --workspace' shipped, in the init container that the "
		 "controller\n"
		 "adds to training pods. The archive is held against its SHA-256 before "
		 "anything\n"
		 "is written; nothing outside the folder is. A folder that holds this "
		 "archive\n"
		 "already stays as it is.",
	.example =
		"kftrainer runtime unpack-workspace --from workspace.tar.zst \\\n"
		"    --sha256 $(sha256sum < workspace.tar.zst | cut -c 1-64) --to code",
	.opts = opts_table,
	.opts_size = sizeof(struct unpack_workspace_opts),
	.flags = CMD_IN_POD,
	.run = run,
};
