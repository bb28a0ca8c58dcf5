/*
 * render.h - print the objects of TrainJobs: `submit --dry-run`, `runtime render`.
 */
#ifndef CMD_RENDER_H
#define CMD_RENDER_H

#include "cmd/ui/out.h"
#include "spec/job.h"

/* For an option table; the first is the default. */
extern const char *const render_formats[];

/* "table" and "name" print a line for each of `items`, other formats print `doc`. */
MUST_CHECK int render_objects(const cJSON *items, const cJSON *doc, const char *format,
			      struct error *err);

/* All jobs' objects as one v1 List, in the order in which they are applied. */
MUST_CHECK int render_jobs(struct job_set *set, const char *format, struct error *err);

#endif
