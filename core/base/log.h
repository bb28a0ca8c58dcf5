/*
 * log.h - log lines of a daemon.
 *
 * For the long-running commands only (controller, servers): a command that ends
 * prints its messages instead, and libraries return errors. One call is one
 * write(2) to stderr, so that lines of several threads do not mix:
 *
 *     log_info("reconciled", LOG_STR("trainjob", key), LOG_INT("ms", took));
 *
 *     2026-01-31T23:59:59Z INFO reconciled trainjob=team-a/bert ms=12
 *     {"time":"2026-01-31T23:59:59Z","level":"info","msg":"reconciled",...}
 *
 * What a terminal would obey (str_visible()) is shown, not sent.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

extern const char *const log_level_words[];  /* "error", ...; for OPT_ENUM */
extern const char *const log_format_words[]; /* "text", "json" */

struct log_field {
	const char *key; /* NULL ends a list */
	const char *str; /* NULL: the number counts */
	int64_t num;
};

#define LOG_STR(k, v)                             \
	{                                         \
		.key = (k), .str = (v) ? (v) : "" \
	}
#define LOG_INT(k, v)                  \
	{                              \
		.key = (k), .num = (v) \
	}
#define LOG_ERR(err)                              \
	{                                         \
		.key = "error", .str = (err)->msg \
	}

/* Call it before the first thread starts. Without it: text, from info on, to stderr. */
void log_setup(enum log_level level, enum log_format format, int fd);

void log_line(enum log_level level, const char *msg, const struct log_field *fields);

/* The last message of some source; { 0 }: none. For log_is_news() only. */
struct log_last {
	char text[256]; /* how it begins */
	int64_t until_ms;
};
/*
 * For repeated failures. False: the same text was the source's last one, less than ms
 * ago.
 */
bool log_is_news(struct log_last *last, const char *text, int64_t ms);

#define LOG_LINE_(level, msg, ...) \
	log_line(level, msg,       \
		 (const struct log_field[]){ __VA_ARGS__ __VA_OPT__(, ){ 0 } })
#define log_error(msg, ...) LOG_LINE_(LOG_LEVEL_ERROR, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(msg, ...)  LOG_LINE_(LOG_LEVEL_WARN, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_info(msg, ...)  LOG_LINE_(LOG_LEVEL_INFO, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_debug(msg, ...) LOG_LINE_(LOG_LEVEL_DEBUG, msg __VA_OPT__(, ) __VA_ARGS__)

#endif
