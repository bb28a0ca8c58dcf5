/*
 * preflight.c - check this node's GPUs before a job spends hours on them.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/last_words.h"
#include "gpu/discover.h"
#include "gpu/expect.h"
#include "gpu/preflight.h"

struct preflight_opts {
	const char *checks, *expect;
	bool quick, full;
	int64_t gpus, timeout_ms, deadline_ms;
	int output;
};

enum { LINES, JSON, NODE_SIZE = 256, EXPECT_MAX = 1 << 20, DEADLINE_MS = 300000 };
static const char *const formats[] = { "table", "json", NULL };
static const char *const grades[] = { "pass", "warning", "retry", "fatal" };
enum { FATAL = 3 };

static const struct opt opts_table[] = {
	OPT_STR(0, "check", "NAME,...",
		"only these: devices, driver, health, memory, bandwidth, peers, nccl",
		struct preflight_opts, checks),
	OPT_INT(0, "gpus", "N", "so many GPUs have to be usable", struct preflight_opts,
		gpus, 0, 1024),
	OPT_BOOL(0, "quick", "test 1 GiB of each GPU's memory", struct preflight_opts,
		 quick),
	OPT_BOOL(0, "full", "all patterns of memory, and each pair of GPUs",
		 struct preflight_opts, full),
	OPT_STR(0, "expect", "FILE", "JSON: how fast each kind of GPU has to be",
		struct preflight_opts, expect),
	OPT_DURATION(0, "timeout", "DURATION",
		     "how long a call of NVIDIA's libraries may take (default 10s)",
		     struct preflight_opts, timeout_ms, 1, OPT_LONGEST),
	OPT_DURATION(0, "deadline", "DURATION", "how long a check may take (default 5m)",
		     struct preflight_opts, deadline_ms, 1, OPT_LONGEST),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct preflight_opts, output,
		 formats),
	{ .type = OPT_END },
};

/* What the rows are printed as, and the first of the worst ones. */
struct printing {
	int format, worst;
	char words[LAST_WORDS_MAX];
};

static const char *text(const cJSON *row, const char *key)
{
	const char *value = json_str(row, key);

	return value ? value : "";
}

/* "fatal    memory     3      7 pages of 4 KiB were read back wrong: 1073741824 bytes" */
static void print_line(const cJSON *row)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *value = json_get(row, "value"),
		    *expected = json_get(row, "expected");
	char a[JSON_MAX_NUMBER + 1], b[JSON_MAX_NUMBER + 1];
	const char *device = json_str(row, "device");

	printf("%-8s %-10s %-6s %s", text(row, "result"), text(row, "check"),
	       device ? device : "-", str_visible(&arena, text(row, "message"), false));
	if (value)
		printf(": %s %s", json_number_text(value, a), text(row, "unit"));
	if (expected)
		printf(" (expected %s)", json_number_text(expected, b));
	printf("\n");
}

static void print_json(const cJSON *row)
{
	cleanup_free char *line = json_text(row);

	printf("%s\n", line);
}

static void keep_worst(struct printing *to, const cJSON *row)
{
	const char *device = json_str(row, "device");
	int grade = 0;

	while (grade < FATAL && !str_eq(text(row, "result"), grades[grade]))
		grade++;
	if (grade <= to->worst)
		return;
	to->worst = grade;
	snprintf(to->words, sizeof(to->words), "node %s: %s%s: %s: %s", text(row, "node"),
		 device ? "GPU " : "GPUs", device ? device : "", text(row, "check"),
		 text(row, "message"));
}

static void on_row(void *ctx, const cJSON *row)
{
	struct printing *to = ctx;

	if (to->format == JSON)
		print_json(row);
	else
		print_line(row);
	fflush(stdout);
	keep_worst(to, row);
}

static int choose(struct arena *arena, const char *list, const char *const **ret,
		  struct error *err)
{
	char **names = str_split(arena, list, ',', NULL);

	for (size_t i = 0; names[i]; i++) {
		names[i] = str_trim(arena, names[i]);
		if (!str_in(names[i], preflight_checks))
			return error_set(err, ERR_USAGE, "--check: '%s' is not one of %s",
					 names[i],
					 str_join(arena, preflight_checks, ", "));
	}
	*ret = (const char *const *)names;
	return 0;
}

static int read_expect(cJSON **ret, const char *path, struct error *err)
{
	cleanup_buf struct buf data = { .max = EXPECT_MAX };

	if (!path) {
		*ret = gpu_expect_builtin();
		return 0;
	}
	if (file_read(&data, path, err))
		return -1;
	if (gpu_expect_parse(ret, data.data, data.len, err))
		return error_wrap(err, "%s", path);
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct preflight_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *expect = NULL;
	struct printing to = { .format = opts->output };
	char node[NODE_SIZE] = "";
	int code;
	struct preflight p = {
		.node = node,
		.dev = gpu_dev(),
		.depth = opts->quick  ? PREFLIGHT_QUICK
			 : opts->full ? PREFLIGHT_FULL
				      : PREFLIGHT_NORMAL,
		.wanted = opts->gpus,
		.call_ms = opts->timeout_ms ? opts->timeout_ms : GPU_CALL_MS,
		.check_ms = opts->deadline_ms ? opts->deadline_ms : DEADLINE_MS,
		.report = on_row,
		.ctx = &to,
	};

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (opts->quick && opts->full)
		return error_set(err, ERR_USAGE,
				 "--quick cannot be combined with --full");
	if ((opts->checks && choose(&arena, opts->checks, &p.only, err)) ||
	    read_expect(&expect, opts->expect, err))
		return -1;
	gethostname(node, sizeof(node) - 1);
	p.expect = expect;
	code = (int)preflight_run(&p);
	if (to.worst) /* `why` and the events of a job whose init container this is */
		last_words(to.words);
	return code;
}

const struct cmd cmd_preflight = {
	.name = "preflight",
	.args = "",
	.summary = "check this node's GPUs and the links between them",
	.about = "Prints a line for each check and device. Exits with 0 (pass), 10 "
		 "(warning),\n"
		 "20 (worth trying again) or 30 (fatal): the worst of all. Without a GPU "
		 "it\n"
		 "passes, unless --gpus requests some.",
	.opts = opts_table,
	.opts_size = sizeof(struct preflight_opts),
	.example = "kftrainer preflight\n"
		   "kftrainer preflight --quick -o json\n"
		   "kftrainer preflight --check memory,nccl",
	.run = run,
};
