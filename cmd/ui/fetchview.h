/*
 * fetchview.h - how far a download is: a bar, lines, or JSON; and the TrainJob's status.
 */
#ifndef CMD_FETCHVIEW_H
#define CMD_FETCHVIEW_H

#include "store/fetch.h"
#include "store/upload.h"

enum fetchview_kind { VIEW_AUTO, VIEW_BAR, VIEW_LINES, VIEW_JSON, VIEW_NONE };
extern const char *const fetchview_words[]; /* for OPT_ENUM */

struct fetchview {
	enum fetchview_kind kind;
	const char *what; /* "initialize-model" */
	const char *verb; /* what was done to the bytes: "fetched" */
	int64_t shown_ms; /* when a line was printed last */
	struct speed {
		int64_t ms, bytes;
	} speeds[64]; /* of the last seconds */
	unsigned n_speeds;
	bool drawn; /* the bar stands there */
};

/* VIEW_AUTO becomes a bar where stderr is a terminal, else lines. */
void fetchview_begin(struct fetchview *v, enum fetchview_kind kind, const char *what);

/* For struct fetch_conf; ctx is the view. */
void fetchview_tick(void *ctx, const struct fetch_now *now);
/* The same for struct upload_conf: an upload is shown as a fetch is. */
void fetchview_upload_tick(void *ctx, const struct upload_now *now);
struct fetch_now fetchview_upload(const struct upload_now *now);
void fetchview_file(void *ctx, enum fetch_event event, const char *path, int64_t bytes);
void fetchview_say(void *ctx, const char *line);

/* The last word; err is NULL when all is there. */
void fetchview_end(struct fetchview *v, const struct fetch_now *now,
		   const struct error *err);

/* Per cent (0 to 100) and seconds to go; -1: not known. */
int fetch_percent(const struct fetch_now *now);
int64_t fetchview_seconds_left(const struct fetchview *v, const struct fetch_now *now);

#endif
