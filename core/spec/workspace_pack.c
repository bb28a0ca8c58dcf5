/* workspace_pack.c - pack a directory, choose its transport (spec/workspace_pack.h). */
#include "spec/workspace_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "crypto/digest.h"
#include "pack/manifest.h"

int workspace_check_opts(const struct workspace_opts *o, bool local, struct error *err)
{
	const struct {
		bool given, local;
		const char *name;
	} rest[] = {
		{ o->include.n, true, "--include" },
		{ o->to, false, "--workspace-to" },
		{ o->secret, false, "--workspace-secret" },
		{ o->keep, false, "--keep" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rest); i++) {
		if (rest[i].given && !o->dir && !o->from)
			return error_set(err, ERR_USAGE, "%s requires --workspace",
					 rest[i].name);
		if (rest[i].given && local && !rest[i].local)
			return error_set(
				err, ERR_USAGE,
				"%s needs a cluster; --local reads the directory itself",
				rest[i].name);
	}
	if (o->secret && !o->to)
		return error_set(err, ERR_USAGE,
				 "--workspace-secret requires --workspace-to");
	if (o->to && !str_starts(o->to, "s3://") && !str_starts(o->to, "hf://"))
		return error_set(
			err, ERR_USAGE,
			"--workspace-to: unsupported URI '%.200s': want s3:// or hf://",
			o->to);
	return 0;
}

static int make_folder(struct workspace_pack *s, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(&s->arena, "%s/kftrainer-workspace-XXXXXX",
				    tmp && *tmp == '/' ? tmp : "/tmp");

	if (!mkdtemp(folder))
		return error_errno(err, errno, "%s", folder);
	s->folder = folder;
	return 0;
}

static const char *too_large(struct workspace_pack *s, const char *dir)
{
	cleanup_buf struct buf files = { .max = 600 };

	for (int i = 0; i < PACK_LARGEST && s->summary.largest[i].path; i++)
		buf_printf(&files, "%s%.150s %s", i ? ", " : "",
			   s->summary.largest[i].path,
			   str_size(&s->arena, s->summary.largest[i].size));
	return arena_printf(
		&s->arena,
		"--workspace %.200s: %s packed (%lld bytes), but a ConfigMap holds %d; "
		"the largest files: %s; list what is not needed in " PACK_IGNORE_FILE
		", or upload it with --workspace-to s3://BUCKET/PATH",
		dir, str_size(&s->arena, s->summary.size), (long long)s->summary.size,
		WORKSPACE_CONFIGMAP_MAX, files.data ? (const char *)files.data : "none");
}

static int write_archive(struct workspace_pack *s, const struct buf *archive, int out,
			 struct error *err)
{
	digest_hex_of(DIGEST_SHA256, archive->data, archive->len, s->summary.digest);
	s->summary.size = (int64_t)archive->len;
	return file_write_fd(out, archive->data, archive->len, WORKSPACE_FILE, err);
}

static int pack(struct workspace_pack *s, const struct workspace_opts *o,
		struct error *err)
{
	struct pack_opts how = { .limits = o->dev ? MANIFEST_LIMITS : PACK_LIMITS,
				 .includes = { o->include.list, o->include.n } };
	const char *dir = o->dir;
	struct stat st;
	const char *file = path_join(&s->arena, s->folder, WORKSPACE_FILE);
	cleanup_fd int out = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (out < 0)
		return error_errno(err, errno, "%s", file);
	s->annotations.digest = s->upload.digest = s->summary.digest;
	if (!dir)
		return write_archive(s, o->archive, out, err);
	if (stat(dir, &st))
		return error_set(err, ERR_INVALID, "--workspace %s: %s", dir,
				 strerror(errno));
	if (o->dev && S_ISREG(st.st_mode)) {
		dir = path_dir(&s->arena, o->dir);
		how.only = path_base(o->dir);
	} else if (!S_ISDIR(st.st_mode)) {
		return error_set(err, ERR_INVALID, "--workspace %s: %s", dir,
				 strerror(ENOTDIR));
	}
	if (pack_folder(dir, out, &how, &s->arena, &s->summary, err))
		return error_wrap(err, "--workspace");
	return 0;
}

/* Read the archive into memory, up to a ConfigMap's limit. */
static int load(struct workspace_pack *s, struct error *err)
{
	s->data.max = WORKSPACE_CONFIGMAP_MAX;
	if (file_read(&s->data, path_join(&s->arena, s->folder, WORKSPACE_FILE), err))
		return -1;
	s->upload.data = s->data.data;
	s->upload.len = s->data.len;
	return 0;
}

/* Name the archive after its contents: equal directories are stored once. */
static void address(struct workspace_pack *s, const struct workspace_opts *o)
{
	size_t len = strlen(o->to);

	s->to = o->to;
	s->name = arena_printf(&s->arena, "workspace-%s.tar.zst", s->annotations.digest);
	s->annotations.uri = arena_printf(&s->arena, "%s%s%s", o->to,
					  o->to[len - 1] == '/' ? "" : "/", s->name);
	s->annotations.secret = o->secret;
}

int workspace_pack_dir(struct workspace_pack *s, const struct workspace_opts *o,
		       enum workspace_target target, const struct reporter *warnings,
		       struct error *err)
{
	if (!o->dir && !o->archive)
		return 0;
	s->dir = o->dir ? o->dir : o->from;
	s->warnings = warnings;
	if (make_folder(s, err) || pack(s, o, err))
		return -1;
	if (target == WORKSPACE_LOCAL)
		return 0;
	if (o->to) {
		address(s, o);
		return 0;
	}
	if (s->summary.size <= WORKSPACE_CONFIGMAP_MAX)
		return load(s, err);
	s->upload.path = path_join(&s->arena, s->folder, WORKSPACE_FILE);
	s->upload.too_large = too_large(s, s->dir);
	return target == WORKSPACE_API
		       ? 0
		       : error_set(err, ERR_LIMIT, "%s", s->upload.too_large);
}

void workspace_pack_add_objects(const struct workspace_pack *s, struct job_set *set)
{
	for (size_t i = 0; s->upload.data && i < set->n; i++)
		cJSON_InsertItemInArray(
			set->list[i].objects, 0,
			workspace_configmap(set->list[i].trainjob, s->upload.digest,
					    s->upload.data, s->upload.len));
}

void workspace_pack_release(struct workspace_pack *s)
{
	struct error err = { 0 };

	if (s->folder && dir_remove(s->folder, &err))
		reporter_line(s->warnings, "warning: %s", err.msg);
	buf_release(&s->data);
	arena_clear(&s->arena);
	*s = (struct workspace_pack){ 0 };
}
