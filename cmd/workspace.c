#include "cmd/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "cmd/ui/fetchview.h"
#include "local/sandbox.h"
#include "store/store.h"
#include "store/upload.h"

int workspace_check_opts(const struct workspace_opts *o, bool local, struct error *err)
{
	const struct {
		bool given, here;
		const char *name;
	} rest[] = {
		{ o->include.n, true, "--include" },
		{ o->to, false, "--workspace-to" },
		{ o->secret, false, "--workspace-secret" },
		{ o->keep, false, "--keep" },
	};

	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		if (rest[i].given && !o->dir)
			return error_set(err, ERR_USAGE, "%s goes with --workspace",
					 rest[i].name);
		if (rest[i].given && local && !rest[i].here)
			return error_set(err, ERR_USAGE,
					 "%s is for jobs on a cluster; --local reads the "
					 "folder itself",
					 rest[i].name);
	}
	if (o->secret && !o->to)
		return error_set(err, ERR_USAGE,
				 "--workspace-secret goes with --workspace-to");
	if (o->to && !str_starts(o->to, "s3://") && !str_starts(o->to, "hf://"))
		return error_set(err, ERR_USAGE,
				 "--workspace-to: '%.200s' begins neither with s3:// nor "
				 "with hf://",
				 o->to);
	return 0;
}

static int make_folder(struct shipment *s, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(&s->arena, "%s/kftrainer-workspace-XXXXXX",
				    tmp && *tmp == '/' ? tmp : "/tmp");

	if (!mkdtemp(folder))
		return error_errno(err, errno, "%s", folder);
	s->folder = folder;
	return 0;
}

static int refuse_large(struct shipment *s, const char *dir, struct error *err)
{
	cleanup_buf struct buf files = { .max = 600 };

	for (int i = 0; i < PACK_LARGEST && s->summary.largest[i].path; i++)
		buf_printf(&files, "%s%.150s %s", i ? ", " : "",
			   s->summary.largest[i].path,
			   size_text(&s->arena, s->summary.largest[i].size));
	return error_set(err, ERR_LIMIT,
			 "--workspace %.200s: packed it has %s (%lld bytes), and a "
			 "ConfigMap takes %d; the largest files: %s; name what is not "
			 "needed in a file " PACK_IGNORE_FILE
			 ", or give a place with --workspace-to s3://BUCKET/PATH",
			 dir, size_text(&s->arena, s->summary.size),
			 (long long)s->summary.size, WORKSPACE_CONFIGMAP_MAX,
			 files.data ? (const char *)files.data : "none");
}

static int pack(struct shipment *s, const struct workspace_opts *o, struct error *err)
{
	const struct pack_opts how = { PACK_LIMITS, { o->include.list, o->include.n } };
	const char *file = path_join(&s->arena, s->folder, WORKSPACE_FILE);
	cleanup_fd int out = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (out < 0)
		return error_errno(err, errno, "%s", file);
	if (pack_folder(o->dir, out, &how, &s->arena, &s->summary, err))
		return error_wrap(err, "--workspace");
	s->says.digest = s->cargo.digest = s->summary.digest;
	return 0;
}

/* Into memory: all that a ConfigMap can hold. */
static int load(struct shipment *s, struct error *err)
{
	s->data.max = WORKSPACE_CONFIGMAP_MAX;
	if (file_read(&s->data, path_join(&s->arena, s->folder, WORKSPACE_FILE), err))
		return -1;
	s->cargo.data = s->data.data;
	s->cargo.len = s->data.len;
	return 0;
}

static void tell_left(struct shipment *s, const struct pack_left *left, const char *why)
{
	int64_t shown = left->n < PACK_LEFT ? left->n : PACK_LEFT;

	if (!left->n)
		return;
	fprintf(stderr, "left out, %s:", why);
	for (int64_t i = 0; i < shown; i++)
		fprintf(stderr, "%s %s", i ? "," : "",
			str_visible(&s->arena, left->paths[i], false));
	if (left->n > shown)
		fprintf(stderr, " and %lld more", (long long)(left->n - shown));
	fprintf(stderr, "\n");
}

static void tell(struct shipment *s)
{
	static const char *const why[EXCLUDE_REASONS] = {
		[EXCLUDE_KEY] = "by name (--include PATH takes one back in)",
		[EXCLUDE_OWN] = "by " PACK_IGNORE_FILE,
		[EXCLUDE_GIT] = "by .gitignore",
	};

	fprintf(stderr, "workspace %s: %lld files and folders, %s; packed %s\n",
		str_visible(&s->arena, s->dir, false), (long long)s->summary.entries,
		size_text(&s->arena, s->summary.bytes),
		size_text(&s->arena, s->summary.size));
	for (int i = EXCLUDE_KEY; i < EXCLUDE_REASONS; i++)
		tell_left(s, &s->summary.left[i], why[i]);
}

/* Named after its contents: equal folders are there once. */
static void address(struct shipment *s, const struct workspace_opts *o)
{
	size_t len = strlen(o->to);

	s->to = o->to;
	s->name = arena_printf(&s->arena, "workspace-%s.tar.zst", s->says.digest);
	s->says.uri = arena_printf(&s->arena, "%s%s%s", o->to,
				   o->to[len - 1] == '/' ? "" : "/", s->name);
	s->says.secret = o->secret;
}

int shipment_pack(struct shipment *s, const struct workspace_opts *o, bool local,
		  bool quiet, struct error *err)
{
	if (!o->dir)
		return 0;
	s->dir = o->dir;
	if (make_folder(s, err) || pack(s, o, err))
		return -1;
	if (o->to && !local)
		address(s, o);
	else if (!local && s->summary.size > WORKSPACE_CONFIGMAP_MAX)
		return refuse_large(s, o->dir, err);
	else if (!local && load(s, err))
		return -1;
	if (!quiet)
		tell(s);
	return 0;
}

/* ---- to a place ---- */

/* In a folder of its own, under the name that it gets. */
static int upload(struct shipment *s, struct upload_conf *conf, struct upload_now *now,
		  struct error *err)
{
	const char *folder = path_join(&s->arena, s->folder, "upload");
	const char *file = path_join(&s->arena, s->folder, WORKSPACE_FILE);

	if (mkdir(folder, 0700) || link(file, path_join(&s->arena, folder, s->name)))
		return error_errno(err, errno, "%s", folder);
	return upload_run(conf, folder, now, err);
}

int shipment_upload(struct shipment *s, bool quiet, struct error *err)
{
	const struct store_conf place = { .uri = s->to, .env = variable };
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION };
	struct fetchview view;
	struct upload_conf conf = { .uri = s->to,
				    .env = variable,
				    .tick = fetchview_upload_tick,
				    .say = fetchview_say,
				    .ctx = &view };
	struct upload_now now = { 0 };
	struct fetch_now last;
	int rc;

	if (s->says.digest && !quiet)
		tell(s);
	if (!s->says.uri)
		return 0;
	if (store_http_new(&conf.http, &place, &http, err))
		return -1;
	fetchview_begin(&view, quiet ? VIEW_NONE : VIEW_AUTO, "workspace");
	view.verb = "sent";
	rc = upload(s, &conf, &now, err);
	last = fetchview_upload(&now);
	fetchview_end(&view, &last, rc ? err : NULL);
	http_client_free(conf.http);
	return rc ? error_wrap(err, "--workspace-to") : 0;
}

/* ---- on this machine ---- */

/* Can pods of this machine see a folder where it is not? */
static bool can_mount(struct shipment *s)
{
	const char *stage = path_join(&s->arena, s->folder, "stage");
	bool ret;

	if (str_eq(getenv("KFTRAINER_ISOLATION"), "none") || mkdir(stage, 0700))
		return false;
	ret = sandbox_probe(stage) & SANDBOX_MOUNT;
	rmdir(stage);
	return ret;
}

static int bind_shared(struct shipment *s, cJSON *objects, struct error *err)
{
	const char *archive = path_join(&s->arena, s->folder, WORKSPACE_FILE);
	const struct unpack_opts how = { .to = path_join(&s->arena, s->folder, "files"),
					 .digest = s->says.digest,
					 .limits = PACK_LIMITS };
	cleanup_fd int fd = open(archive, O_RDONLY | O_CLOEXEC);
	struct pack_summary summary;
	bool before;

	if (fd < 0)
		return error_errno(err, errno, "%s", archive);
	if (unpack_folder(fd, &how, &summary, &before, err))
		return -1;
	fprintf(stderr, "no mounts on this machine: all pods start in one copy of the "
			"workspace, not at " WORKSPACE_PATH "\n");
	workspace_bind_shared(objects, how.to);
	return 0;
}

int shipment_bind_local(struct shipment *s, cJSON *objects, struct error *err)
{
	char program[PATH_MAX];
	ssize_t n;

	if (!s->says.digest)
		return 0;
	if (!can_mount(s))
		return bind_shared(s, objects, err);
	n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n < 0)
		return error_errno(err, errno, "/proc/self/exe");
	program[n] = 0;
	workspace_bind_local(objects, program, s->folder);
	return 0;
}

void shipment_add(const struct shipment *s, struct job_set *set)
{
	for (size_t i = 0; s->cargo.data && i < set->n; i++)
		cJSON_InsertItemInArray(set->list[i].objects, 0,
					workspace_configmap(set->list[i].trainjob,
							    s->cargo.digest,
							    s->cargo.data, s->cargo.len));
}

void shipment_release(struct shipment *s)
{
	struct error err = { 0 };

	if (s->folder && dir_remove(s->folder, &err))
		cmd_complain("submit", "warning: %s", err.msg);
	buf_release(&s->data);
	arena_clear(&s->arena);
	*s = (struct shipment){ 0 };
}
