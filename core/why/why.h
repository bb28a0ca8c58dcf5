/*
 * why.h - why a TrainJob waits, is slow or has failed, or that no problem was found.
 *
 * A pure function of a view (why/view.h): causes, the most likely first, each with a
 * sentence and the command that shows more. The order is that of the table in why.c.
 */
#ifndef WHY_WHY_H
#define WHY_WHY_H

#include "why/view.h"

/*
 * {namespace, name, state, causes: [{reason, message, command}],
 * unknown: [{what, check}]}. state: Deleted, Failed, Complete, Suspended, Pending or
 * Running. `command` may be absent. `unknown`: reads that were denied, and the kubectl
 * command that checks each. The caller owns the result. The view must have a TrainJob.
 */
cJSON *why_explain(const struct view *v);

/* Appends one paragraph, then a line for each command. why: of why_explain(). */
void why_text(struct buf *out, const cJSON *why);

#endif
