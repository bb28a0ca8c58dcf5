/* Reads and writes uploads.jsonl; see upload_log.h. */
#include "store/upload_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "store/target.h"

#define NAME "uploads.jsonl"

enum { MAX_STATE = 16 * 1024 * 1024, MAX_ID = 2048 };

/* Untrusted: set by a server, and read from a file that others may write. */
static bool is_id(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			return false;
	return *s && strlen(s) <= MAX_ID;
}

static void take_line(struct upload_log *b, const char *line, size_t len)
{
	cleanup_json cJSON *doc = NULL;
	const char *object, *id;

	if (!len || json_parse(&doc, line, len, IGNORED))
		return;
	object = json_str(doc, "object");
	id = json_str(doc, "id");
	if (object && id && is_id(id))
		map_put(&b->ids, object, arena_strdup(&b->arena, id));
}

static void read_back(struct upload_log *b)
{
	cleanup_buf struct buf text = { .max = MAX_STATE };
	const char *line, *end;

	buf_adds(&text, "");
	if (file_read_fd(&text, b->fd, NAME, IGNORED))
		return;
	/* end a line that a kill has truncated */
	if (text.len && text.data[text.len - 1] != '\n' &&
	    file_write_fd(b->fd, "\n", 1, NAME, IGNORED))
		return;
	/* A file system that lost power may leave zeros in a line: only that one is lost. */
	line = (const char *)text.data;
	end = line + text.len;
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line);

		take_line(b, line, len);
		line += len + 1;
	}
}

void upload_log_open(struct upload_log *b, const char *folder)
{
	cleanup_fd int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*b = (struct upload_log){ .state = -1, .fd = -1 };
	if (dir < 0 || (mkdirat(dir, TARGET_STATE, 0777) && errno != EEXIST))
		return;
	b->state = openat(dir, TARGET_STATE,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->state < 0)
		return;
	b->fd = openat(b->state, NAME,
		       O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		       0666);
	if (b->fd >= 0 && flock(b->fd, LOCK_EX | LOCK_NB)) {
		close(b->fd);
		b->fd = -1;
	}
	if (b->fd >= 0)
		read_back(b);
}

void upload_log_close(struct upload_log *b, bool delete)
{
	if (b->fd >= 0 && delete)
		unlinkat(b->state, NAME, 0);
	if (b->fd >= 0)
		close(b->fd);
	if (b->state >= 0)
		close(b->state);
	map_release(&b->ids, NULL);
	arena_clear(&b->arena);
	b->state = b->fd = -1;
}

const char *upload_log_find(const struct upload_log *b, const char *object)
{
	return map_get(&b->ids, object);
}

void upload_log_add(struct upload_log *b, const char *object, const char *id)
{
	cleanup_buf struct buf line = { .max = MAX_STATE };
	cleanup_json cJSON *doc = cJSON_CreateObject();

	if (b->fd < 0)
		return;
	json_put_str(doc, object, "object");
	json_put_str(doc, id, "id");
	json_print(&line, doc);
	buf_adds(&line, "\n");
	/* an upload that is not logged starts over */
	if (file_write_fd(b->fd, line.data, line.len, NAME, IGNORED))
		return;
}
