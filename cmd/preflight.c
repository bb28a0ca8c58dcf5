/* preflight.c - check nodes and GPUs before a job uses them (preflight_nodes.h, gpu/preflight.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sock.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/preflight_nodes.h"
#include "cmd/ui/termination_message.h"
#include "crypto/sign.h"
#include "gpu/discover.h"
#include "gpu/expect.h"
#include "gpu/preflight.h"
#include "net/rendezvous.h"

struct preflight_opts {
	const char *checks, *expect, *leader, *job_key;
	bool quick, full, warn;
	struct preflight_node_opts node;
	int64_t gpus, timeout_ms, deadline_ms, nodes, node_rank;
	int output;
};

enum {
	LINES,
	JSON,
	NODE_SIZE = 256,
	EXPECT_MAX = 1 << 20,
	DEADLINE_MS = 300000,
	NCCL_MS = 60000,
	LEADER_SIZE = 256,
	KEY_LEAST = 16
};
static const char *const formats[] = { "table", "json", NULL };
static const char *const grades[] = { "pass", "warning", "retry", "fatal" };
enum { FATAL = 3 };
#define UNNAMED                                                         \
	"the other nodes' names do not follow from '%s': use --leader " \
	"JOB-node-0-0.JOB:PORT"

static const struct opt opts_table[] = {
	OPT_STR(0, "check", "NAME,...",
		"run only these: mounts, shm, names, ports, links, clocks, devices, "
		"driver, health, memory, bandwidth, peers, nccl, job",
		struct preflight_opts, checks),
	OPT_INT(0, "gpus", "N", "required number of usable GPUs", struct preflight_opts,
		gpus, 0, 1024),
	OPT_BOOL(0, "quick", "test only 1 GiB of each GPU's memory",
		 struct preflight_opts, quick),
	OPT_BOOL(0, "full", "test memory with all patterns, and each pair of GPUs",
		 struct preflight_opts, full),
	OPT_STR(0, "expect", "FILE",
		"JSON file with the expected speeds of each kind of GPU",
		struct preflight_opts, expect),
	OPT_STRS(0, "mount", "DIR",
		 "write, read and remove a file in this directory; repeatable",
		 struct preflight_opts, node.mounts),
	OPT_STR(0, "shm", "SIZE", "required size of /dev/shm: 8Gi", struct preflight_opts,
		node.shm),
	OPT_INT(0, "job-port", "PORT",
		"with --nodes: port of the job, to be free on all nodes (default: 29500)",
		struct preflight_opts, node.port, 1, 65535),
	OPT_BOOL(0, "warn", "exit with 0 whatever is found", struct preflight_opts, warn),
	OPT_INT(0, "nodes", "N",
		"number of nodes of the job; adds links, and an all-reduce over them",
		struct preflight_opts, nodes, 2, RENDEZVOUS_MAX),
	OPT_INT(0, "node-rank", "R", "rank of this node (default: JOB_COMPLETION_INDEX)",
		struct preflight_opts, node_rank, 0, RENDEZVOUS_MAX - 1),
	OPT_STR(0, "leader", "HOST:PORT", "with --nodes: address of node rank 0",
		struct preflight_opts, leader),
	OPT_STR(0, "job-key", "FILE", "with --nodes: secret that the job's nodes share",
		struct preflight_opts, job_key),
	OPT_DURATION(0, "timeout", "TIME",
		     "limit for each call of NVIDIA's libraries (default: 10s)",
		     struct preflight_opts, timeout_ms, 1, OPT_LONGEST),
	OPT_DURATION(0, "deadline", "TIME", "limit for each check (default: 5m)",
		     struct preflight_opts, deadline_ms, 1, OPT_LONGEST),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct preflight_opts, output,
		 formats),
	{ .type = OPT_END },
};

/* The output format, the worst grade so far, and the first row with that grade. */
struct printing {
	int format, worst;
	char words[TERMINATION_MESSAGE_MAX];
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

static void record_worst(struct printing *to, const cJSON *row)
{
	const char *device = json_str(row, "device");
	const char *gpu = str_in(text(row, "check"), preflight_node_checks) ? ""
			  : device                                          ? "GPU "
									    : "GPUs";
	int grade = 0;

	while (grade < FATAL && !str_eq(text(row, "result"), grades[grade]))
		grade++;
	if (grade <= to->worst)
		return;
	to->worst = grade;
	snprintf(to->words, sizeof(to->words), "node %s: %s%s%s%s: %s", text(row, "node"),
		 gpu, device ? device : "", device || *gpu ? ": " : "",
		 text(row, "check"), text(row, "message"));
}

static void on_row(void *ctx, const cJSON *row)
{
	struct printing *to = ctx;

	if (to->format == JSON)
		print_json(row);
	else
		print_line(row);
	fflush(stdout);
	record_worst(to, row);
}

static int choose(struct arena *arena, const char *list, const char *const **ret,
		  struct error *err)
{
	char **names = str_split(arena, list, ',', NULL);

	for (size_t i = 0; names[i]; i++) {
		names[i] = str_trim(arena, names[i]);
		if (!str_in(names[i], preflight_checks) &&
		    !str_in(names[i], preflight_node_checks))
			return error_set(err, ERR_USAGE,
					 "--check: invalid check '%s': want %s, %s",
					 names[i],
					 str_join(arena, preflight_node_checks, ", "),
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

/* ---- the job's other nodes ------------------------------------------------------------ */

struct job_nodes {
	struct rendezvous rendezvous;
	int64_t check_ms;
	char host[LEADER_SIZE];
	bool open;
};

/* The rendezvous is open already: each node sends its hello again. */
static int exchange_hello(struct job_nodes *t, const cJSON *hello, cJSON **ret,
			  struct error *err)
{
	if (t->rendezvous.rank)
		return rendezvous_send(&t->rendezvous, 0, hello, err);
	for (uint32_t i = 1; i < t->rendezvous.n; i++)
		if (rendezvous_receive(&t->rendezvous, i, &ret[i], IGNORED))
			ret[i] = NULL;
	return 0;
}

static int job_open(void *ctx, const cJSON *hello, cJSON **ret, struct error *err)
{
	struct job_nodes *t = ctx;
	int64_t now = clock_ms();

	/* Rank 0 needs up to check_ms to wait for the others, and again for the check. */
	t->rendezvous.deadline = now + t->check_ms * (t->rendezvous.rank ? 2 : 1);
	if (t->open)
		return exchange_hello(t, hello, ret, err);
	if (rendezvous_open(&t->rendezvous, hello, ret, err))
		return -1;
	t->open = true;
	if (!t->rendezvous.rank)
		t->rendezvous.deadline = clock_ms() + t->check_ms;
	return 0;
}

static int job_send(void *ctx, uint32_t rank, const cJSON *doc, struct error *err)
{
	return rendezvous_send(&((struct job_nodes *)ctx)->rendezvous, rank, doc, err);
}

static int job_receive(void *ctx, uint32_t rank, cJSON **ret, struct error *err)
{
	return rendezvous_receive(&((struct job_nodes *)ctx)->rendezvous, rank, ret, err);
}

/* Pods of a job are numbered: rank 2 beside "j-node-0-0.j" is "j-node-0-2.j". */
static bool is_numbered(const char *host)
{
	size_t len = strcspn(host, ".");

	return len >= 2 && strncmp(host + len - 2, "-0", 2) == 0;
}

static const char *job_name(void *ctx, struct arena *arena, uint32_t rank)
{
	const char *host = ((struct job_nodes *)ctx)->host;
	int len = (int)strcspn(host, ".");

	if (!is_numbered(host))
		return rank ? arena_printf(arena, "rank %u", rank) : host;
	return arena_printf(arena, "%.*s%u%s", len - 1, host, rank, host + len);
}

static void refused(void *ctx, const char *peer, const char *why)
{
	cmd_complain("preflight", "%s: refused: %s", peer, why);
}

static int read_key(unsigned char key[PSK_KEY_SIZE], const char *path, struct error *err)
{
	cleanup_buf struct buf data = { .max = EXPECT_MAX };

	if (file_read(&data, path, err))
		return -1;
	if (data.len < KEY_LEAST)
		return error_set(
			err, ERR_INVALID,
			"%s: too short for a job's key: %zu bytes, at least %d are "
			"required",
			path, data.len, KEY_LEAST);
	sign_sha256(data.data, data.len, key);
	return 0;
}

static int read_leader(struct job_nodes *t, const char *text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *host, *number;
	int64_t port;

	if (!sock_split(&arena, text, &host, &number) || !*host ||
	    strlen(host) >= sizeof(t->host) || str_int(&port, number, 1, 65535, err))
		return error_set(err, ERR_USAGE,
				 "--leader: invalid address '%s': want HOST:PORT, of an "
				 "IPv6 address [ADDRESS]:PORT",
				 text);
	snprintf(t->host, sizeof(t->host), "%s", host);
	t->rendezvous.host = t->host;
	t->rendezvous.port = (int)port;
	return 0;
}

static int read_rank(int64_t *ret, const struct preflight_opts *opts, struct error *err)
{
	const char *index = getenv("JOB_COMPLETION_INDEX");

	*ret = opts->node_rank;
	if (!opts->node_rank && index && str_int(ret, index, 0, RENDEZVOUS_MAX - 1, err))
		return error_wrap(err, "JOB_COMPLETION_INDEX");
	if (*ret >= opts->nodes)
		return error_set(err, ERR_USAGE,
				 "--node-rank %lld: out of range, --nodes is %lld",
				 (long long)*ret, (long long)opts->nodes);
	return 0;
}

static int read_job(struct job_nodes *t, struct preflight_job *job,
		    const struct preflight_opts *opts, struct error *err)
{
	int64_t rank;

	if (!opts->leader || !opts->job_key)
		return error_set(
			err, ERR_USAGE,
			"--nodes requires --leader HOST:PORT and --job-key FILE");
	if (read_rank(&rank, opts, err) || read_leader(t, opts->leader, err) ||
	    read_key(t->rendezvous.key, opts->job_key, err))
		return -1;
	t->rendezvous.n = (uint32_t)opts->nodes;
	t->rendezvous.rank = (uint32_t)rank;
	t->rendezvous.refused = refused;
	t->check_ms = opts->deadline_ms ? opts->deadline_ms : DEADLINE_MS;
	*job = (struct preflight_job){
		.n = t->rendezvous.n,
		.rank = t->rendezvous.rank,
		.call_ms = opts->timeout_ms ? opts->timeout_ms : NCCL_MS,
		.open = job_open,
		.send = job_send,
		.receive = job_receive,
		.name = job_name,
		.ctx = t,
	};
	return 0;
}

/* A row for each check that --check names and that requires an option which is not set. */
static void report_unset(struct preflight *p, const struct preflight_opts *opts)
{
	const struct {
		const char *check, *message;
		bool is_set;
	} requires[] = {
		{ "mounts", "not checked: specify --mount DIR", opts->node.mounts.n },
		{ "shm", "not checked: specify --shm SIZE", opts->node.shm },
		{ "names", "not checked: specify --nodes N", opts->nodes },
		{ "ports", "not checked: specify --nodes N", opts->nodes },
		{ "links", "not checked: specify --nodes N", opts->nodes },
		{ "clocks", "not checked: specify --nodes N", opts->nodes },
		{ "job", "not checked: specify --nodes N", opts->nodes },
	};

	for (size_t i = 0; p->only && i < N_ELEMENTS(requires); i++)
		if (!requires[i].is_set && str_in(requires[i].check, p->only))
			preflight_report(p, (struct preflight_row){
						    .check = requires[i].check,
						    .message = requires[i].message,
					    });
}

static void check_nodes(struct preflight *p, const struct preflight_opts *opts,
			struct job_nodes *t)
{
	cleanup_arena struct arena arena = { 0 };

	report_unset(p, opts);
	preflight_nodes_local(p, &opts->node);
	if (opts->nodes && is_numbered(t->host))
		preflight_nodes_job(p, &opts->node,
				    &(struct preflight_job_nodes){
					    &t->rendezvous, job_name, job_open, t });
	else if (opts->nodes && !p->only)
		preflight_report(
			p,
			(struct preflight_row){
				.check = "names",
				.message = arena_printf(
					&arena,
					"not checked, nor ports, links and clocks: " UNNAMED,
					t->host) });
}

/* --check has what needs the names of the job's nodes. */
static int check_names(const char *const *only, const char *host, struct error *err)
{
	for (; only && *only && *host && !is_numbered(host); only++)
		if (str_in(*only, preflight_job_checks))
			return error_set(err, ERR_USAGE, "--check %s: " UNNAMED, *only,
					 host);
	return 0;
}

static int check_opts(const struct preflight_opts *opts, int argc, char **argv,
		      struct error *err)
{
	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (opts->quick && opts->full)
		return error_set(err, ERR_USAGE,
				 "--quick cannot be combined with --full");
	return preflight_nodes_check(&opts->node, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct preflight_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *expect = NULL;
	struct printing to = { .format = opts->output };
	struct job_nodes nodes = { 0 };
	struct preflight_job job;
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

	if (check_opts(opts, argc, argv, err) ||
	    (opts->nodes && read_job(&nodes, &job, opts, err)))
		return -1;
	p.job = opts->nodes ? &job : NULL;
	if ((opts->checks && choose(&arena, opts->checks, &p.only, err)) ||
	    check_names(p.only, nodes.host, err) ||
	    read_expect(&expect, opts->expect, err))
		return -1;
	gethostname(node, sizeof(node) - 1);
	p.expect = expect;
	check_nodes(&p, opts, &nodes);
	code = (int)preflight_run(&p);
	rendezvous_close(&nodes.rendezvous);
	if (to.worst) /* `why` and events show it, if this is an init container */
		termination_message(to.words);
	return opts->warn ? 0 : code;
}

const struct cmd cmd_preflight = {
	.name = "preflight",
	.args = "",
	.summary = "check this node, its GPUs, and the links to the job's other nodes",
	.about =
		"Prints a line for each check and device. Exits with the worst result: 0 (pass),\n"
		"10 (warning), 20 (worth trying again) or 30 (fatal). Without a GPU it passes,\n"
		"unless --gpus requests some. With --nodes all nodes of the job run it at the\n"
		"same time, and all get the same result for the job.",
	.opts = opts_table,
	.opts_size = sizeof(struct preflight_opts),
	.example = "kftrainer preflight\n"
		   "kftrainer preflight --check mounts --mount /tmp\n"
		   "kftrainer preflight --quick -o json\n"
		   "kftrainer preflight --check memory,nccl",
	.run = run,
};
