/*
 * submit.h - submit TrainJobs, and the other documents of their files, to a cluster.
 *
 *     submission_read()     reads documents and options, and orders them for sending
 *     submission_dry_run()  sends all with dryRun=All and fieldValidation=Strict; nothing
 *                           is stored
 *     submission_send()     applies runtimes, ConfigMaps and Secrets server-side, without
 *                           force, then creates the TrainJobs
 *
 * All refusals are reported, each with file, line and column. A TrainJob with its own
 * runtime is validated again once the runtime is stored. If sending fails, the objects
 * that were created are deleted again.
 */
#ifndef CLIENT_SUBMIT_H
#define CLIENT_SUBMIT_H

#include "client/workspace_upload.h"
#include "kube/kube.h"
#include "spec/job.h"
#include "spec/reporter.h"

struct submit_conf {
	struct job_opts job;                   /* its get_runtime is set here */
	const struct workspace_upload *upload; /* uploaded with each TrainJob; or NULL */
	bool keep; /* leave a TrainJob, suspended, if its upload failed */
	struct outcomes out;
};

/* A document to send. */
struct submit_item {
	struct doc *doc;
	cJSON *obj;    /* the object to send; owned by the document */
	cJSON *stored; /* the API server's answer; owned; or NULL */
	bool job;
	bool has_own_runtime; /* a TrainJob whose runtime is one of the files */
	bool created;         /* by this submission */
	bool half_submitted;  /* exists, from an earlier submit, without its workspace */
};

struct submission {
	const struct submit_conf *conf;
	struct kube *kube; /* the caller's */
	struct job_opts job;
	struct job_set set;
	struct submit_item *list; /* in the order in which they are sent */
	size_t n;
	size_t refused, exist; /* how many; if any, nothing remains stored */
};

/*
 * Errors of documents are stored in them, for submission_dry_run() to report. `conf` and
 * `k` are borrowed. Release in every case.
 */
MUST_CHECK int submission_read(struct submission *ret, struct kube *k,
			       const struct submit_conf *conf, struct error *err);
size_t submission_jobs(const struct submission *s); /* the number of TrainJobs */
/*
 * Both: 0, also after refusals, which have been reported and counted in `refused` and
 * `exist`; -1: the API server could not be asked, or a right is missing.
 */
MUST_CHECK int submission_dry_run(struct submission *s, struct error *err);
MUST_CHECK int submission_send(struct submission *s, struct error *err);
void submission_release(struct submission *s);
#define cleanup_submission __attribute__((cleanup(submission_release)))

#endif
