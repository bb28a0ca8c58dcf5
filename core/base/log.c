/* Prints log lines, as text or JSON: log.h. */
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"

enum { MAX_LINE = 16 * 1024 };

const char *const log_level_words[] = { "error", "warn", "info", "debug", NULL };
const char *const log_format_words[] = { "text", "json", NULL };

static enum log_level max_level = LOG_LEVEL_INFO;
static enum log_format format = LOG_FORMAT_TEXT;
static int log_fd = STDERR_FILENO;

void log_setup(enum log_level level, enum log_format as, int fd)
{
	max_level = level;
	format = as;
	log_fd = fd;
}

/* Ambiguous values are quoted. */
static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == '"' || *s == '=' || *s == 0x7f)
			return false;
	return true;
}

/* JSON escapes ESC and line ends, but not what else a terminal obeys (C1, bidi). */
static void add_quoted(struct buf *out, const char *s)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *node = cJSON_CreateString(str_visible(&arena, s, true));

	json_print(out, node);
}

static void add_text(struct buf *out, enum log_level level, const char *msg,
		     const struct log_field *f)
{
	static const char *const names[] = { "ERROR", "WARN", "INFO", "DEBUG" };
	cleanup_arena struct arena arena = { 0 };
	char now[TIME_TEXT_SIZE];

	buf_printf(out, "%s %s %s", time_text(clock_now(), now), names[level],
		   str_visible(&arena, msg, false));
	for (; f->key; f++) {
		buf_printf(out, " %s=", f->key);
		if (!f->str)
			buf_printf(out, "%" PRId64, f->num);
		else if (is_plain(f->str))
			buf_adds(out, str_visible(&arena, f->str, false));
		else
			add_quoted(out, f->str);
	}
}

static void add_json(struct buf *out, enum log_level level, const char *msg,
		     const struct log_field *f)
{
	char now[TIME_TEXT_SIZE];

	buf_printf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":",
		   time_text(clock_now(), now), log_level_words[level]);
	add_quoted(out, msg);
	for (; f->key; f++) {
		buf_adds(out, ",");
		add_quoted(out, f->key);
		buf_adds(out, ":");
		if (f->str)
			add_quoted(out, f->str);
		else
			buf_printf(out, "%" PRId64, f->num);
	}
	buf_adds(out, "}");
}

static void add_line(struct buf *out, enum log_level level, const char *msg,
		     const struct log_field *fields)
{
	if (format == LOG_FORMAT_JSON)
		add_json(out, level, msg, fields);
	else
		add_text(out, level, msg, fields);
}

void log_line(enum log_level level, const char *msg, const struct log_field *fields)
{
	static const struct log_field too_long[] = { LOG_STR("fields", "too long"),
						     { 0 } };
	cleanup_buf struct buf line = { .max = MAX_LINE };
	char head[200];

	if (level > max_level)
		return;
	add_line(&line, level, msg, fields);
	if (line.overflowed) {
		buf_clear(&line);
		snprintf(head, sizeof(head), "%s", msg);
		add_line(&line, level, head, too_long);
	}
	buf_adds(&line, "\n");
	/* A log that cannot be written cannot be reported. */
	if (file_write_fd(log_fd, line.data, line.len, "log", IGNORED))
		return;
}

bool log_is_news(struct log_last *last, const char *text, int64_t ms)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int64_t now = clock_ms();
	bool news;

	pthread_mutex_lock(&lock);
	news = now >= last->until_ms ||
	       strncmp(text, last->text, sizeof(last->text) - 1) != 0;
	if (news) {
		snprintf(last->text, sizeof(last->text), "%s", text);
		last->until_ms = now + ms;
	}
	pthread_mutex_unlock(&lock);
	return news;
}
