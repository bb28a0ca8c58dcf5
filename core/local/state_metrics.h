/*
 * state_metrics.h - reports of runs, for plots: <run>/metrics.jsonl, a line for each
 * report, as in a run directory (docs/runs.md): the object trainerStatus with `time`.
 */
#ifndef LOCAL_STATE_METRICS_H
#define LOCAL_STATE_METRICS_H

#include "local/state.h"

#define STATE_METRICS "metrics.jsonl"

/* Append a report, or what has just been reported. Failures are ignored, not retried. */
void state_metrics_add(const struct state_run *run, const cJSON *report);
void state_metrics_add_now(const struct state_run *run, const cJSON *progress);

/*
 * Calls each() with the reports of the job's newest run, those after *at, which begins as
 * { 0 }: the file, and how far it was read. A newer run begins again. False: it has none.
 */
bool state_metrics_each(const char *ns, const char *name, int64_t at[2],
			void (*each)(void *ctx, const cJSON *report), void *ctx);

/*
 * Calls each() with the objects that are lines of the text, whole ones alone: the last may
 * be half. Returns the bytes of these lines; what is no object, or is longer than
 * 256 KiB, is left out.
 */
size_t state_metrics_lines(const char *text, size_t len,
			   void (*each)(void *ctx, const cJSON *report), void *ctx);

#endif
