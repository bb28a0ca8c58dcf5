/* cache_servers.c - cache-serve head, worker and pod: run the servers (cache/serve.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/auth.h"
#include "cache/serve.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "kube/token_authenticator.h"
#include "trainer/cache_names.h"

enum { MAX_PORT = 65535, MAX_WORKERS = CACHE_MAX_SIZE - 1 };
/* If RUNTIME_ENV is set, as in upstream: workers on localhost, at ports from this one. */
enum { LOCAL_WORKERS = 2, LOCAL_PORT = 50052 };
/* The token of the pod's ServiceAccount. */
#define SERVICE_TOKEN "/var/run/secrets/kubernetes.io/serviceaccount/token"
enum { REVIEW_MS = 10 * 1000 };
enum { TAKEOVER = 30, MAX_TAKEOVER = 86400 };

#define INDEX_ENV "JOB_COMPLETION_INDEX"

struct server_opts {
	int64_t memory, takeover;
	const char *spill, *token_file, *head_token_file, *snapshot;
	const char *tls_cert, *tls_key, *ca_file, *audience;
	bool token_review;
	struct opt_strs workers, groups;
	int log_format;
	bool pod; /* `cache-serve pod`: in a pod of a job */
};

#define LOG_FORMAT                                                                      \
	OPT_ENUM(0, "log-format", "FORMAT", "how to write the log", struct server_opts, \
		 log_format, log_format_words)
#define MEMORY                                                        \
	OPT_INT(0, "memory", "BYTES", "memory limit (default: none)", \
		struct server_opts, memory, 16 << 20, INT64_MAX)

#define TOKENS                                                                           \
	OPT_STR(0, "token-file", "FILE",                                                 \
		"accept only calls with the bearer token in this file",                  \
		struct server_opts, token_file),                                         \
		OPT_STR(0, "head-token-file", "FILE",                                    \
			"assign rows only with the bearer token in this file",           \
			struct server_opts, head_token_file),                            \
		OPT_BOOL(0, "token-review",                                              \
			 "accept only tokens that the API server's TokenReview accepts", \
			 struct server_opts, token_review),                              \
		OPT_STR(0, "audience", "NAME",                                           \
			"with --token-review: required audience of tokens (default: "    \
			"the API server's)",                                             \
			struct server_opts, audience),                                   \
		OPT_STRS(0, "group", "NAME",                                             \
			 "with --token-review: group whose users can read (default: "    \
			 "this "                                                         \
			 "namespace's ServiceAccounts); repeatable",                     \
			 struct server_opts, groups)

#define TLS                                                                         \
	OPT_STR(0, "tls-cert", "FILE", "serve over TLS: certificate chain, in PEM", \
		struct server_opts, tls_cert),                                      \
		OPT_STR(0, "tls-key", "FILE", "its private key, in PEM",            \
			struct server_opts, tls_key)
#define CA_FILE                                                                         \
	OPT_STR(0, "ca-file", "FILE",                                                   \
		"CAs to verify the workers' certificates with (default: the system's)", \
		struct server_opts, ca_file)

static const struct opt head_table[] = {
	OPT_STRS(0, "worker", "HOST:PORT",
		 "worker, instead of those of the LeaderWorkerSet; repeatable",
		 struct server_opts, workers),
	OPT_STR(0, "snapshot", "NAME",
		"Iceberg snapshot: an ID, branch or tag (default: the current one)",
		struct server_opts, snapshot),
	OPT_INT(0, "takeover", "SECONDS",
		"let others load the rows of a worker that is down (default: 30)",
		struct server_opts, takeover, 1, MAX_TAKEOVER),
	TLS,
	CA_FILE,
	TOKENS,
	LOG_FORMAT,
	{ .type = OPT_END },
};

#define WORKER_OPTS                                                                      \
	MEMORY,                                                                          \
		OPT_STR(0, "spill", "DIR", "directory for rows beyond the memory limit", \
			struct server_opts, spill),                                      \
		TLS, TOKENS

static const struct opt worker_table[] = {
	WORKER_OPTS,
	LOG_FORMAT,
	{ .type = OPT_END },
};

static const struct opt pod_table[] = {
	WORKER_OPTS,
	CA_FILE,
	LOG_FORMAT,
	{ .type = OPT_END },
};

/* ---- settings ---------------------------------------------------------------------- */

static int read_port(int *ret, const char *name, const char *text, int64_t min,
		     struct error *err)
{
	int64_t port;

	if (str_int(&port, text, min, MAX_PORT, err)) {
		err->kind = ERR_USAGE;
		return error_wrap(err, "%s", name);
	}
	*ret = (int)port;
	return 0;
}

/* ---- authentication ---- */

/* With TokenReviews, the head sends the token in the file to its workers. */
struct access {
	struct auth *file, *head_file;
	struct token_authenticator *review;
	struct kube_config config;
	struct kube *kube;
	const char **groups;
	char *own_group;
};

static void access_release(struct access *a)
{
	token_authenticator_free(a->review);
	if (a->kube)
		kube_free(a->kube);
	kube_config_release(&a->config);
	auth_free(a->file);
	auth_free(a->head_file);
	free(a->groups);
	free(a->own_group);
}

static int judge(void *ctx, const char *peer, const char *authorization,
		 struct error *err)
{
	struct access *a = ctx;

	return token_authenticator_judge(a->review, peer, authorization, err);
}

static void watch(void *ctx, void (*news)(void *arg), void *arg)
{
	struct access *a = ctx;

	token_authenticator_watch(a->review, news, arg);
}

static const char *header(void *ctx, struct arena *arena)
{
	const struct cache_auth file = auth_callbacks(((struct access *)ctx)->file);

	return file.header(file.ctx, arena);
}

/* Accept the groups of the options, or all ServiceAccounts of the namespace. */
static void read_groups(struct access *a, const struct opt_strs *groups)
{
	struct buf name = { .max = 512 };

	a->groups = xcalloc(groups->n + 2, sizeof(*a->groups));
	for (size_t i = 0; i < groups->n; i++)
		a->groups[i] = groups->list[i];
	if (groups->n)
		return;
	buf_printf(&name, "system:serviceaccounts:%s", a->config.ns);
	a->own_group = xstrdup((const char *)name.data);
	a->groups[0] = a->own_group;
	buf_release(&name);
}

static int start_review(struct access *a, const struct server_opts *o, struct error *err)
{
	const struct kube_config_flags flags = { 0 };
	const struct kube_opts opts = { .user_agent = "kftrainer/" VERSION,
					.timeout_ms = REVIEW_MS };
	struct token_authenticator_conf conf = { .audience = o->audience };

	if (kube_config_load(&a->config, &flags, err) ||
	    kube_new(&a->kube, &a->config, &opts, err))
		return error_wrap(err, "--token-review");
	read_groups(a, &o->groups);
	conf.kube = a->kube;
	conf.groups = a->groups;
	return token_authenticator_new(&a->review, &conf, err);
}

static int read_access(struct cache_conf *conf, const struct server_opts *o,
		       struct access *a, struct error *err)
{
	const char *file = o->token_file;

	if (!o->token_review && (o->audience || o->groups.n))
		return error_set(err, ERR_USAGE, "--%s requires --token-review",
				 o->audience ? "audience" : "group");
	if (o->token_review && !file && conf->n_workers)
		file = SERVICE_TOKEN;
	if (file && auth_new(&a->file, file, err))
		return error_wrap(err, "--token-file");
	if (file)
		conf->auth = auth_callbacks(a->file);
	if (o->head_token_file) {
		if (auth_new(&a->head_file, o->head_token_file, err))
			return error_wrap(err, "--head-token-file");
		conf->head_auth = auth_callbacks(a->head_file);
	}
	if (!o->token_review)
		return 0;
	conf->auth = (struct cache_auth){
		.judge = judge, .watch = watch, .header = file ? header : NULL, .ctx = a
	};
	return start_review(a, o, err);
}

static int read_conf(struct cache_conf *conf, const struct server_opts *o, int argc,
		     char **argv, struct error *err)
{
	const char *health = env_variable(NULL, "HEALTH_PORT");

	if (argc != 2)
		return error_set(err, ERR_USAGE, "specify HOST and PORT");
	conf->host = argv[0];
	conf->memory = (uint64_t)o->memory;
	conf->spill = o->spill;
	conf->snapshot = o->snapshot;
	conf->takeover_ms = 1000 * (o->takeover ? o->takeover : TAKEOVER);
	conf->health_port = CACHE_HEALTH_PORT;
	conf->health_host = o->pod ? conf->host : NULL;
	conf->tls_cert = o->tls_cert;
	conf->tls_key = o->tls_key;
	conf->ca_file = o->ca_file;
	if (!conf->tls_cert != !conf->tls_key)
		return error_set(err, ERR_USAGE,
				 "specify --tls-cert and --tls-key together");
	if (conf->ca_file && !conf->tls_cert)
		return error_set(err, ERR_USAGE,
				 "--ca-file requires --tls-cert: a head without TLS does "
				 "not use TLS to call its workers");
	conf->env = env_variable;
	conf->location = env_variable(NULL, "METADATA_LOC");
	if (read_port(&conf->port, "PORT", argv[1], 0, err) ||
	    (health && read_port(&conf->health_port, "HEALTH_PORT", health, 0, err)))
		return -1;
	if (!conf->location)
		return error_set(err, ERR_INVALID,
				 "METADATA_LOC is not set: set it to the URI of a table");
	return 0;
}

static void add_worker(struct cache_conf *conf, char *take_host, int port)
{
	conf->workers = xreallocarray(conf->workers, (size_t)conf->n_workers + 1,
				      sizeof(*conf->workers));
	conf->workers[conf->n_workers++] = (struct cache_address){ take_host, port };
}

/* Parse one worker: "[::1]:50051" or "host:50051". */
static int add_address(struct cache_conf *conf, const char *where, const char *text,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *host, *number;
	int port = 0;

	if (!sock_split(&arena, text, &host, &number) || !*host)
		return error_set(err, ERR_USAGE, "%s: %s: want HOST:PORT", where, text);
	if (read_port(&port, where, number, 1, err))
		return -1;
	add_worker(conf, xstrdup(host), port);
	return 0;
}

/* Parse the workers of a job's pods: "HOST:PORT,..." */
static int add_pods(struct cache_conf *conf, const char *list, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	for (char **address = str_split(&arena, list, ',', NULL); *address; address++)
		if (add_address(conf, CACHE_WORKERS_ENV, *address, err))
			return -1;
	return 0;
}

/* LeaderWorkerSet's names: worker i of "set-0.set.ns" is "set-0-i.set.ns". */
static int add_set(struct cache_conf *conf, const char *leader, struct error *err)
{
	const char *size = env_variable(NULL, "LWS_GROUP_SIZE");
	size_t label = strcspn(leader, ".");
	cleanup_arena struct arena arena = { 0 };
	int64_t n;

	if (!size)
		return error_set(err, ERR_INVALID,
				 "LWS_LEADER_ADDRESS is set, but LWS_GROUP_SIZE is not");
	if (str_int(&n, size, 2, MAX_WORKERS + 1, err))
		return error_wrap(err, "LWS_GROUP_SIZE");
	for (int i = 1; i < n; i++)
		add_worker(conf,
			   xstrdup(arena_printf(&arena, "%s-%d%s",
						str_slice(&arena, leader, label), i,
						leader + label)),
			   CACHE_PORT);
	return 0;
}

static int read_workers(struct cache_conf *conf, const struct server_opts *o,
			struct error *err)
{
	const char *leader = env_variable(NULL, "LWS_LEADER_ADDRESS");

	for (size_t i = 0; i < o->workers.n; i++)
		if (add_address(conf, "--worker", o->workers.list[i], err))
			return -1;
	if (conf->n_workers)
		return 0;
	if (o->pod && env_variable(NULL, CACHE_WORKERS_ENV))
		return add_pods(conf, env_variable(NULL, CACHE_WORKERS_ENV), err);
	if (getenv("RUNTIME_ENV")) {
		for (int i = 0; i < LOCAL_WORKERS; i++)
			add_worker(conf, xstrdup("localhost"), LOCAL_PORT + i);
		return 0;
	}
	if (leader)
		return add_set(conf, leader, err);
	return error_set(err, ERR_INVALID,
			 "no workers: use --worker, or set LWS_LEADER_ADDRESS and "
			 "LWS_GROUP_SIZE");
}

/* ---- commands ---------------------------------------------------------------------- */

static int run_head(const void *values, int argc, char **argv, struct error *err)
{
	const struct server_opts *o = values;
	struct cache_conf conf = { 0 };
	struct access access = { 0 };
	int rc;

	log_setup(LOG_LEVEL_INFO, (enum log_format)o->log_format, STDERR_FILENO);
	rc = read_conf(&conf, o, argc, argv, err) || read_workers(&conf, o, err) ||
	     stop_setup(err) || read_access(&conf, o, &access, err) ||
	     cache_head_run(&conf, err);
	for (int i = 0; i < conf.n_workers; i++)
		free(conf.workers[i].host);
	free(conf.workers);
	access_release(&access);
	return rc ? -1 : EXIT_OK;
}

static int run_worker(const void *values, int argc, char **argv, struct error *err)
{
	const struct server_opts *o = values;
	struct cache_conf conf = { 0 };
	struct access access = { 0 };
	int rc;

	log_setup(LOG_LEVEL_INFO, (enum log_format)o->log_format, STDERR_FILENO);
	rc = read_conf(&conf, o, argc, argv, err) || stop_setup(err) ||
	     read_access(&conf, o, &access, err) || cache_worker_run(&conf, err);
	access_release(&access);
	return rc ? -1 : EXIT_OK;
}

/* The pod with index 0 of the Job is the head. */
static int run_pod(const void *values, int argc, char **argv, struct error *err)
{
	struct server_opts o = *(const struct server_opts *)values;
	const char *text = env_variable(NULL, INDEX_ENV);
	int64_t index;

	o.pod = true;
	if (!text)
		return error_set(err, ERR_INVALID,
				 INDEX_ENV " is not set: cache-serve pod runs in a pod "
					   "of an indexed Job");
	if (str_int(&index, text, 0, MAX_WORKERS, err))
		return error_wrap(err, INDEX_ENV);
	return index ? run_worker(&o, argc, argv, err) : run_head(&o, argc, argv, err);
}

const struct cmd cmd_cache_head = {
	.name = "head",
	.args = "HOST PORT",
	.summary = "serve the list of workers and their rows",
	.about =
		"Serves Arrow Flight; a drop-in replacement for the head of upstream's data\n"
		"cache. METADATA_LOC is the table. The workers are those of the LeaderWorkerSet\n"
		"(LWS_LEADER_ADDRESS, LWS_GROUP_SIZE), or with RUNTIME_ENV localhost:50052 and\n"
		"localhost:50053. They can start in any order and restart. GET /ready on\n"
		"HEALTH_PORT (8080) is 200 once all workers have loaded their rows.",
	.example = "METADATA_LOC=/data/train.parquet RUNTIME_ENV=local \\\n"
		   "  kftrainer cache-serve head 0.0.0.0 50051",
	.opts = head_table,
	.opts_size = sizeof(struct server_opts),
	.flags = CMD_DAEMON | CMD_IN_POD,
	.run = run_head,
};

const struct cmd cmd_cache_pod = {
	.name = "pod",
	.args = "HOST PORT",
	.summary = "run as head or worker, by the pod's index in its job",
	.about =
		"Runs in the data cache of runtimes with the annotation kftrainer.io/cache: pods.\n"
		"The pod with JOB_COMPLETION_INDEX 0 is the head of the workers in CACHE_WORKERS\n"
		"(HOST:PORT,...), the others are workers. /ready is also served on HOST.",
	.opts = pod_table,
	.opts_size = sizeof(struct server_opts),
	.flags = CMD_DAEMON | CMD_IN_POD,
	.run = run_pod,
};

const struct cmd cmd_cache_worker = {
	.name = "worker",
	.args = "HOST PORT",
	.summary = "serve rows to training pods from memory",
	.about =
		"Serves Arrow Flight; a drop-in replacement for a worker of upstream's data\n"
		"cache. Reads the rows that the head assigns from METADATA_LOC and keeps them in\n"
		"memory, encoded for sending. GET /ready on HEALTH_PORT (8080) is 200 once they\n"
		"are loaded. After SIGTERM, reads in progress have 5 s to finish.",
	.opts = worker_table,
	.opts_size = sizeof(struct server_opts),
	.flags = CMD_DAEMON | CMD_IN_POD,
	.run = run_worker,
};
