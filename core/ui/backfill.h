/*
 * backfill.h - threads that read the reports of jobs from before this process, from their run
 * directories, when viewers request them (board_request_backfill()).
 */
#ifndef UI_BACKFILL_H
#define UI_BACKFILL_H

#include "base/error.h"

struct board;
struct backfill;
struct ui_conf;

/* Both outlive it. After a failure, too, board_stop() and backfill_free() end it. */
MUST_CHECK int backfill_start(struct backfill **ret, const struct ui_conf *conf,
			      struct board *b, struct error *err);
void backfill_free(struct backfill *p); /* after board_stop(); NULL is fine */

#endif
