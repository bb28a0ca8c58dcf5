/*
 * progress_line.h - the progress of a TrainJob as people see it: "running: 45 %, loss 1.23,
 * 3m left". The job reports it (trainer/progress.h), so names and values are a stranger's.
 */
#ifndef TRAINER_PROGRESS_LINE_H
#define TRAINER_PROGRESS_LINE_H

#include "base/arena.h"
#include "base/json.h"

/*
 * "running: 45 %, loss 1.23, 3m left", as far as reported; in the arena, or static. Shown
 * by why/phase.c (submit --follow), client/logs.c (logs -f), local/run_publish.c (submit
 * --local) and cmd/wait.c; cmd/get.c has columns.
 */
const char *progress_line(struct arena *arena, const cJSON *tj);

/*
 * "loss 1.23, lr 4.5e-05": at most three metrics, of at most 72 bytes in all, without
 * control characters; "" if none is reported. Losses come first (loss, train_loss,
 * eval_loss, val_loss), then what is not finite ("grad_norm NaN"), then the order of the
 * report. Numbers have three significant digits, whole ones up to nine.
 */
const char *progress_metrics(struct arena *arena, const cJSON *tj);

/*
 * The choice of these lines, and of those that name another phase, where none can be
 * redrawn in place: `now` is clock_ms(). Each phase is printed, once. A line with another
 * percentage or the first NaN (or infinity) is printed, of many one in five seconds; others
 * once a minute. The name of the job may stand in front.
 */
struct progress_pace {
	char last[256];    /* printed last */
	int64_t printed;   /* when */
	int64_t free_from; /* the time from which on no line is held back */
};
bool progress_is_due(struct progress_pace *pace, const char *line, int64_t now);
/* Where all lines are redrawn: is this the first one with a NaN, which has to stay? */
bool progress_turns_nan(struct progress_pace *pace, const char *line);

#endif
