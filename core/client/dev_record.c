/* dev_record.c - directories of jobs in development (client/dev_record.h). */
#include "client/dev_record.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "trainer/supervise_spec.h"

enum { MAX_UID = 64, MAX_TEXT = 256 * 1024, KEPT_SECONDS = 90 * 24 * 3600 };

static int record_paths(struct arena *arena, const cJSON *job, const char **ret_dir,
			const char **ret_path, struct error *err)
{
	static const char usual[] = "0123456789abcdefghijklmnopqrstuvwxyz-";
	const char *uid = meta_uid(job), *state;

	if (!uid || !*uid || strlen(uid) > MAX_UID || uid[strspn(uid, usual)])
		return error_set(err, ERR_FORMAT, "TrainJob %s has no usual uid",
				 meta_name(job));
	if (path_of_state(arena, &state, err))
		return -1;
	*ret_dir = path_join(arena, state, "dev");
	*ret_path = path_join(arena, *ret_dir, uid);
	return 0;
}

static void remove_old(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	struct stat st;

	while (d && (e = dir_next(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_mtime < clock_now() - KEPT_SECONDS)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int dev_record_write(const cJSON *job, struct error *err)
{
	const char *from = meta_annotation(job, DEV_FROM_ANNOTATION), *dir, *path;
	cleanup_arena struct arena arena = { 0 };

	if (!from)
		return 0;
	if (record_paths(&arena, job, &dir, &path, err) || dir_make(dir, 0700, err))
		return -1;
	remove_old(dir);
	return file_write(path, from, strlen(from), 0600, err);
}

bool dev_record_agrees(const cJSON *job)
{
	const char *from = meta_annotation(job, DEV_FROM_ANNOTATION), *dir, *path;
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = MAX_TEXT };

	return from && !record_paths(&arena, job, &dir, &path, IGNORED) &&
	       !file_read_regular(&text, path, IGNORED) && text.len == strlen(from) &&
	       !memcmp(text.data, from, text.len);
}
