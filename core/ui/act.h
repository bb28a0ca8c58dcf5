/*
 * act.h - suspends, resumes and deletes a job, as the commands do.
 *
 * The job's page links to a page that asks; its form does it, by a POST with the token of
 * gate.h. What the user may not do is grey, with the reason.
 */
#ifndef UI_ACT_H
#define UI_ACT_H

#include "base/buf.h"
#include "kube/kube.h"

enum act { ACT_SUSPEND, ACT_RESUME, ACT_DELETE, N_ACTS };
/* "suspend". False: no such act. */
bool act_read(const char *word, enum act *ret);

/* Appends the links; sends two SelfSubjectAccessReviews, for all pages of that job. */
void act_links(struct buf *out, struct kube *k, const cJSON *job);

/* The page that asks. csrf: the token for its form. */
MUST_CHECK int act_ask(struct buf *out, struct kube *k, const cJSON *job, enum act act,
		       const char *csrf, struct error *err);

/* ERR_CONFLICT: the job has another uid than the one that the user saw. */
MUST_CHECK int act_do(struct kube *k, const cJSON *job, enum act act, const char *uid,
		      struct error *err);

#endif
