/* unpack_workspace.c - unpack a submitted directory in a training pod (pack/pack.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "pack/pack.h"
#include "store/fetch.h"
#include "store/store.h"

struct unpack_workspace_opts {
	const char *from, *to, *digest, *download;
	bool private, quiet;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "from", "FILE|URI", "the archive (tar, compressed with zstd)",
		struct unpack_workspace_opts, from),
	OPT_STR(0, "download", "DIR", "temporary directory for the download",
		struct unpack_workspace_opts, download),
	OPT_STR(0, "to", "DIR", "target: a new or empty directory",
		struct unpack_workspace_opts, to),
	OPT_STR(0, "sha256", "HEX", "expected checksum of the archive",
		struct unpack_workspace_opts, digest),
	OPT_BOOL(0, "private", "make the files readable, but not writable, for others",
		 struct unpack_workspace_opts, private),
	OPT_BOOL('q', "quiet", "print only errors", struct unpack_workspace_opts, quiet),
	{ .type = OPT_END },
};

static bool is_uri(const char *from)
{
	return strstr(from, "://") != NULL;
}

static int check(const struct unpack_workspace_opts *o, struct error *err)
{
	if (!o->from || !o->to || !o->digest)
		return error_set(err, ERR_USAGE,
				 "--from, --sha256 and --to are required");
	if (is_uri(o->from) && !o->download)
		return error_set(err, ERR_USAGE, "--from %.100s requires --download",
				 o->from);
	if (strlen(o->digest) == PACK_DIGEST_SIZE - 1 &&
	    strspn(o->digest, "0123456789abcdef") == PACK_DIGEST_SIZE - 1)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--sha256: invalid checksum '%.80s': want 64 lowercase "
			 "hexadecimal digits",
			 o->digest);
}

/* ---- download ---- */

struct download {
	const char *dir;
	struct arena *arena;
	const char *path; /* the descriptor of the downloaded archive */
	size_t n;
};

static void on_file(void *ctx, enum fetch_event event, const char *path, int64_t bytes)
{
	struct download *d = ctx;

	if (event != FETCH_PRESENT && event != FETCH_DONE)
		return;
	d->path = path_join(d->arena, d->dir, path);
	d->n++;
}

static int fetch_with(struct fetch_conf *conf, struct download *d, struct error *err)
{
	const struct store_conf store = {
		.uri = conf->uri, .env = env_variable, .http = conf->http, .model = true
	}; /* model: URIs mean the same as for uploads */
	struct fetch_progress now = { 0 };
	int rc;

	if (conf->scheme->open(&conf->store, &store, err))
		return -1;
	rc = fetch_run(conf, &now, err);
	conf->scheme->close(conf->store);
	if (!rc && d->n != 1)
		return error_set(err, ERR_INVALID,
				 "%.200s: want one archive, found %zu files", conf->uri,
				 d->n);
	return rc;
}

static int download(struct download *d, const char *uri, struct error *err)
{
	const struct store_conf place = { .uri = uri, .env = env_variable };
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION,
					.receive_bytes = fetch_receive_bytes(0),
					.max_idle = FETCH_MAX_CONNECTIONS };
	const struct filter all = { 0 };
	struct fetch_conf conf = { .uri = uri,
				   .target = d->dir,
				   .filter = &all,
				   .tries = -1,
				   .file = on_file,
				   .ctx = d };
	int rc;

	if (scheme_find(&conf.scheme, uri, err) || stop_setup(err) ||
	    store_http_new(&conf.http, &place, &http, err))
		return -1;
	rc = fetch_with(&conf, d, err);
	http_client_free(conf.http);
	return rc;
}

/* ---- the command ---- */

static int unpack(const struct unpack_workspace_opts *o, const char *from,
		  struct error *err)
{
	const struct unpack_opts how = { .to = o->to,
					 .digest = o->digest,
					 .limits = PACK_LIMITS,
					 .shared = !o->private };
	cleanup_fd int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct pack_summary summary = { 0 };
	bool done_before;

	if (fd < 0)
		return error_errno(err, errno, "%s", from);
	if (unpack_folder(fd, &how, &summary, &done_before, err))
		return -1;
	if (o->quiet)
		return EXIT_OK;
	if (done_before)
		printf("workspace: %s is up to date\n", o->to);
	else
		printf("workspace: unpacked %lld files and directories, %lld "
		       "bytes, to %s\n",
		       (long long)summary.entries, (long long)summary.bytes, o->to);
	return EXIT_OK;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct unpack_workspace_opts *o = values;
	cleanup_arena struct arena arena = { 0 };
	struct download d = { .dir = o->download, .arena = &arena };
	int code;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (check(o, err))
		return -1;
	if (!is_uri(o->from))
		return unpack(o, o->from, err);
	if (download(&d, o->from, err))
		return -1;
	code = unpack(o, d.path, err);
	unlink(d.path); /* frees its disk space */
	return code;
}

const struct cmd cmd_runtime_unpack_workspace = {
	.name = "unpack-workspace",
	.args = "",
	.summary = "unpack a TrainJob's workspace",
	.about =
		"Unpacks a workspace of 'submit --workspace'. The init container that the\n"
		"controller adds to training pods runs it. Verifies the archive's SHA-256 before\n"
		"writing, and writes only below the target directory. A directory that already\n"
		"contains this archive is not changed.",
	.example =
		"kftrainer runtime unpack-workspace --from workspace.tar.zst \\\n"
		"    --to code.new --sha256 $(sha256sum workspace.tar.zst | cut -c 1-64)",
	.opts = opts_table,
	.opts_size = sizeof(struct unpack_workspace_opts),
	.flags = CMD_IN_POD | CMD_HIDDEN,
	.run = run,
};
