/*
 * past.h - threads that read what jobs have reported before this page, from their run
 * directories, as viewers ask for it (board.h).
 */
#ifndef UI_PAST_H
#define UI_PAST_H

#include "base/error.h"

struct board;
struct past;
struct ui_conf;

/* Both outlive it. After a failure, too, board_stop() and past_free() end it. */
MUST_CHECK int past_start(struct past **ret, const struct ui_conf *conf, struct board *b,
			  struct error *err);
void past_free(struct past *p); /* after board_stop(); NULL is fine */

#endif
