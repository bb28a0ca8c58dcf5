/* script.c - put Python code into the command of a TrainJob (spec/script.h). */
#include "spec/script.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "spec/job.h"
#include "trainer/workspace_spec.h"

/* clang-format off */
/* Ends with $d/$0, the script. */
static const char unpack[] =
	"start='form=$1 n=$2\n"
	"shift 2\n"
	"for t in \"${TMPDIR:-/tmp}\" /dev/shm /var/tmp \"$PWD\"; do\n"
	"  d=$(mktemp -d \"$t/kftrainer-XXXXXX\" 2>/dev/null) && break\n"
	"done\n"
	"[ \"$d\" ] || { echo \"$0: no writable directory: ${TMPDIR:-/tmp} "
	"/dev/shm /var/tmp $PWD\" >&2; exit 1; }\n"
	"code() {\n"
	"  i=0\n"
	"  for piece; do\n"
	"    [ \"$i\" -lt \"$n\" ] || break\n"
	"    printf %s \"$piece\" || return 1\n"
	"    i=$((i + 1))\n"
	"  done\n"
	"}\n"
	"if [ \"$form\" = base64 ]; then code \"$@\" | base64 -d; else code "
	"\"$@\"; fi >\"$d/$0\" || exit 1\n"
	"shift \"$n\"\n"
	"python=python3\n"
	"command -v python3 >/dev/null || python=python\n"
	"export PYTHONPATH=\"$PWD${PYTHONPATH:+:$PYTHONPATH}\" "
	"PYTHONUNBUFFERED=\"${PYTHONUNBUFFERED-1}\"\n"
	"'\n"
	"if [ \"${OMPI_MCA_orte_default_hostfile:-}\" ] && [ -z "
	"\"${OMPI_COMM_WORLD_RANK:-}\" ]; then\n"
	"  exec mpirun sh -c \"$start\"'exec $python \"$d/$0\" \"$@\"' \"$0\" \"$@\"\n"
	"fi\n"
	"eval \"$start\"\n";
/* The script is in the job's workspace. */
static const char in_workspace[] =
	"d=" WORKSPACE_PATH "\n"
	"python=python3\n"
	"command -v python3 >/dev/null || python=python\n"
	"export PYTHONPATH=\"$PWD${PYTHONPATH:+:$PYTHONPATH}\" "
	"PYTHONUNBUFFERED=\"${PYTHONUNBUFFERED-1}\"\n";
static const char by_default[] =
	"if [ \"${PET_NNODES:-}\" ]; then\n"
	"  command -v torchrun >/dev/null && exec torchrun \"$d/$0\" \"$@\"\n"
	"  exec $python -m torch.distributed.run \"$d/$0\" \"$@\"\n"
	"fi\n"
	"exec $python \"$d/$0\" \"$@\"\n";
/* clang-format on */

static int read_code(struct buf *code, const char *path, struct error *err)
{
	struct error why = { 0 };

	if (!file_read(code, path, &why))
		return 0;
	if (why.kind == ERR_LIMIT)
		return error_set(err, ERR_LIMIT,
				 "%s: larger than the %d KiB that a TrainJob can carry; "
				 "use --workspace DIR",
				 path, SCRIPT_MAX >> 10);
	return error_set(err, ERR_INVALID, "%s", why.msg);
}

/* The length of the next piece, without cutting a UTF-8 character. */
static size_t piece_length(const char *s, size_t len)
{
	return utf8_cut(s, len, SCRIPT_PIECE);
}

static size_t count_pieces(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t at = 0; at < len; n++)
		at += piece_length(s + at, len - at);
	return n;
}

/* The script of a job in development is not in the command, which stays the same. */
static void put_edited(cJSON *trainjob, const struct job_opts *opts, const char *by)
{
	cleanup_arena struct arena arena = { 0 };

	job_add_word(trainjob, "sh");
	job_add_word(trainjob, "-c");
	job_add_word(trainjob,
		     by ? arena_printf(&arena, "%sset -- \"$d/$0\" \"$@\"\n%s",
				       in_workspace, by)
			: arena_printf(&arena, "%s%s", in_workspace, by_default));
	job_add_word(trainjob, path_base(opts->script));
	for (char **arg = opts->command; arg && *arg; arg++)
		job_add_word(trainjob, *arg);
}

int script_put(cJSON *trainjob, const struct job_opts *opts, struct error *err)
{
	const char *path = opts->script, *by = launch_code((enum launch)opts->launch);
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf code = { .max = SCRIPT_MAX };
	cleanup_buf struct buf text = { .max = 2 * (size_t)SCRIPT_MAX };
	const char *s;
	bool plain;

	if (opts->dev_from) {
		put_edited(trainjob, opts, by);
		return 0;
	}
	if (read_code(&code, path, err))
		return -1;
	plain = !code.len ||
		(utf8_valid(code.data, code.len) && !memchr(code.data, 0, code.len));
	if (plain)
		buf_add(&text, code.data, code.len);
	else
		base64_encode(&text, code.data, code.len);
	if (buf_check(&text, path, err))
		return -1;
	s = (const char *)text.data;
	job_add_word(trainjob, "sh");
	job_add_word(trainjob, "-c");
	job_add_word(trainjob, by ? arena_printf(&arena, "%sset -- \"$d/$0\" \"$@\"\n%s",
						 unpack, by)
				  : arena_printf(&arena, "%s%s", unpack, by_default));
	job_add_word(trainjob, path_base(path));
	job_add_word(trainjob, plain ? "text" : "base64");
	job_add_word(trainjob, arena_printf(&arena, "%zu", count_pieces(s, text.len)));
	for (size_t at = 0, len; at < text.len; at += len) {
		len = piece_length(s + at, text.len - at);
		job_add_word(trainjob, str_slice(&arena, s + at, len));
	}
	for (char **arg = opts->command; arg && *arg; arg++)
		job_add_word(trainjob, *arg);
	return 0;
}
