/* mpi_worker.c - mpi-worker: run the commands of mpi-launch on a node (mpi/worker.h). */
#include "mpi/worker.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/stop.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "mpi/settings.h"

enum { MAX_PORT = 65535 };

struct worker_opts {
	const char *listen, *key;
	int64_t port;
	int log_format;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "listen", "ADDRESS", "where to listen (default: all addresses)",
		struct worker_opts, listen),
	OPT_INT('p', "port", "PORT",
		"port to listen on; else KFTRAINER_MPI_PORT, else 2222",
		struct worker_opts, port, 1, MAX_PORT),
	OPT_STR('i', "key", "FILE",
		"the job's private key; else KFTRAINER_MPI_KEY, else ~/.ssh/id_rsa",
		struct worker_opts, key),
	OPT_ENUM(0, "log-format", "FORMAT", "how to write the log", struct worker_opts,
		 log_format, log_format_words),
	{ .type = OPT_END },
};

static void on_listening(void *ctx, int port)
{
	log_info("listening", LOG_INT("port", port));
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct worker_opts *o = values;
	unsigned char key[PSK_KEY_SIZE];
	struct worker_conf conf = { .host = o->listen,
				    .key = key,
				    .listening = on_listening };
	int rc;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	log_setup(LOG_LEVEL_INFO, (enum log_format)o->log_format, STDERR_FILENO);
	if (mpi_port(&conf.port, o->port, env_variable, NULL, err) ||
	    mpi_key(key, o->key, env_variable, NULL, err))
		return -1;
	rc = stop_setup(err) || worker_run(&conf, err) ? -1 : EXIT_OK;
	explicit_bzero(key, sizeof(key));
	return rc;
}

const struct cmd cmd_mpi_worker = {
	.name = "mpi-worker",
	.args = "",
	.summary = "run the commands that mpi-launch sends to this node",
	.about =
		"Listens for mpi-launch and runs one command per connection, with /bin/sh and\n"
		"this container's environment and working directory. Both ends prove that they\n"
		"have the job's private key. When a connection ends, its command is stopped.\n"
		"SIGTERM stops the worker and all processes that it started.",
	.example = "kftrainer mpi-worker\n"
		   "kftrainer mpi-worker --port 2200 --key /etc/mpi-key/id_rsa",
	.opts = opts_table,
	.opts_size = sizeof(struct worker_opts),
	.flags = CMD_DAEMON | CMD_IN_POD | CMD_HIDDEN,
	.run = run,
};
