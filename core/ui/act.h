/*
 * act.h - reruns, suspends, resumes and deletes a job, as the commands do.
 *
 * The job's page links to a confirmation page, whose form does it by a POST with the token of
 * gate.h. Links for which the user has no right, or that make no sense now, are gray, with
 * the reason.
 */
#ifndef UI_ACT_H
#define UI_ACT_H

#include "base/buf.h"
#include "kube/kube.h"

enum act { ACT_RERUN, ACT_SUSPEND, ACT_RESUME, ACT_DELETE, N_ACTS };
/* "suspend". False: no such act. */
bool act_read(const char *word, enum act *ret);

/* Appends the links; sends a SelfSubjectAccessReview for each verb. */
void act_links(struct buf *out, struct kube *k, const cJSON *job);

/* The confirmation page. csrf: the token for its form. */
MUST_CHECK int act_confirm_page(struct buf *out, struct kube *k, const cJSON *job,
				enum act act, const char *csrf, struct error *err);

/*
 * `seen`: the value `uid` of that form. ERR_CONFLICT: the job is not the one that the user
 * saw. A rerun is done when the command is started.
 */
MUST_CHECK int act_do(struct kube *k, const cJSON *job, enum act act, const char *seen,
		      struct error *err);

#endif
