/*
 * fetchview.h - show the progress of a download or upload: a bar, lines, or JSON.
 */
#ifndef CMD_FETCHVIEW_H
#define CMD_FETCHVIEW_H

#include <pthread.h>

#include "store/fetch.h"
#include "store/upload.h"

enum fetchview_kind { VIEW_AUTO, VIEW_BAR, VIEW_LINES, VIEW_JSON, VIEW_NONE };
extern const char *const fetchview_words[]; /* for OPT_ENUM */

struct fetchview {
	enum fetchview_kind kind;
	const char *what; /* "initialize-model" */
	const char *verb; /* for the result: "fetched" */
	int64_t shown_ms; /* time of the last printed line */
	struct speed {
		int64_t ms, bytes;
	} speeds[64]; /* samples of the last seconds */
	unsigned n_speeds;
	bool drawn;           /* the bar is on the screen */
	pthread_mutex_t lock; /* held by a callback: connections have threads */
};

/* VIEW_AUTO becomes VIEW_BAR if stderr is a terminal, else VIEW_LINES. */
void fetchview_begin(struct fetchview *v, enum fetchview_kind kind, const char *what);

/* Callbacks for struct fetch_conf, from any thread; ctx is the view. */
void fetchview_tick(void *ctx, const struct fetch_progress *now);
/* The callback for struct upload_conf, and an upload's state as that of a fetch. */
void fetchview_upload_tick(void *ctx, const struct upload_progress *now);
struct fetch_progress fetchview_upload(const struct upload_progress *now);
void fetchview_file(void *ctx, enum fetch_event event, const char *path, int64_t bytes);
void fetchview_say(void *ctx, const char *line);

/* Erases the bar and prints the result; err NULL: success. */
void fetchview_end(struct fetchview *v, const struct fetch_progress *now,
		   const struct error *err);

/* Percent (0 to 100); seconds left; -1: unknown. */
int fetchview_percent(const struct fetch_progress *now);
int64_t fetchview_seconds_left(const struct fetchview *v,
			       const struct fetch_progress *now);

#endif
