/*
 * submit.h - TrainJobs, and what stands beside them in their file, to a cluster.
 *
 *     submission_read()  documents and options, in the order in which they are sent
 *     submission_dry_run()   the API server about all of it (dryRun=All,
 *                        fieldValidation=Strict); nothing is stored
 *     submission_send()  runtimes, ConfigMaps and Secrets are applied server-side (nobody
 *                        else's fields are taken over), then the TrainJobs are created
 *
 * What the API server refuses is reported at once, each with file, line and column. A
 * TrainJob whose runtime comes with it is asked about again once that is there. When
 * something is refused after all, what was created is deleted again.
 */
#ifndef CLIENT_SUBMIT_H
#define CLIENT_SUBMIT_H

#include "client/delivery.h"
#include "client/outcomes.h"
#include "kube/kube.h"
#include "spec/job.h"

struct submit_conf {
	struct job_opts job;                 /* its has_runtime is set here */
	const struct workspace_cargo *cargo; /* that goes with each TrainJob; or NULL */
	bool keep;                           /* a TrainJob whose cargo did not arrive */
	struct outcomes out;
};

/* A document on its way. */
struct submit_item {
	struct doc *doc;
	cJSON *obj;    /* what is sent; the document's */
	cJSON *stored; /* what the API server made of it; or NULL */
	bool job;
	bool has_own_runtime; /* a TrainJob whose runtime is one of the files */
	bool created;         /* now, by us */
	bool half_submitted;  /* there already, from us, without its workspace */
};

struct submission {
	const struct submit_conf *conf;
	struct kube *kube; /* the caller's */
	struct job_opts job;
	struct job_set set;
	struct submit_item *list; /* in the order in which they are sent */
	size_t n;
	size_t refused, exist; /* how many; with either nothing is stored */
};

/* 0, or -1 with err. `conf` is borrowed. */
MUST_CHECK int submission_read(struct submission *ret, struct kube *k,
			       const struct submit_conf *conf, struct error *err);
size_t submission_jobs(const struct submission *s);
MUST_CHECK int submission_dry_run(struct submission *s, struct error *err);
MUST_CHECK int submission_send(struct submission *s, struct error *err);
void submission_release(struct submission *s);
#define cleanup_submission __attribute__((cleanup(submission_release)))

#endif
