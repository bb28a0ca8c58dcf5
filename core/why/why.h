/*
 * why.h - why a TrainJob waits, is slow, failed, or that all is well.
 *
 * A pure function of a view (why/view.h): causes, the most likely first, each with a
 * sentence and the command that shows more. why.c has the table of them in that order;
 * what a cause looks at is written at its function.
 */
#ifndef WHY_WHY_H
#define WHY_WHY_H

#include "why/view.h"

/*
 * {namespace, name, state, causes: [{reason, message, command}], unknown: [{what, check}]}.
 * state: Deleted, Failed, Complete, Suspended, Pending or Running. There is at least
 * one cause; `command` may be absent. `unknown`: what may not be read. The caller's.
 */
cJSON *why_explain(const struct view *v);

/* One paragraph, then the commands, a line each. */
void why_text(struct buf *out, const cJSON *why);

#endif
