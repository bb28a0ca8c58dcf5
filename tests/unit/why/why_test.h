/*
 * why_test.h - views made of documents as API servers store them, and what `why` says of
 * them.
 */
#ifndef TESTS_UNIT_WHY_WHY_TEST_H
#define TESTS_UNIT_WHY_WHY_TEST_H

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"
#include "why/foreign.h"
#include "why/why.h"

#define NOW "2026-01-01T01:00:00Z"

/* ---- documents ---- */

#define META(name)                                              \
	"metadata: {name: " name ", namespace: a, uid: u-" name \
	", creationTimestamp: '2026-01-01T00:00:00Z'"
#define JOB(spec, status)                                                              \
	"kind: TrainJob\n" META(                                                       \
		"bert") ", labels: {x: y}}\n"                                          \
			"spec: {runtimeRef: {name: r, kind: "                          \
			"ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org}" spec \
			"}\n" status "\n---\n"
#define QUEUED                                                        \
	"kind: TrainJob\n" META(                                      \
		"bert") ", labels: {kueue.x-k8s.io/queue-name: q}}\n" \
			"spec: {runtimeRef: {name: r}, suspend: true}\n---\n"
#define STATUS "status: {state: Created}"
#define FAILED                                                                      \
	"status: {conditions: [{type: Failed, status: 'True', reason: FailedJobs, " \
	"message: jobset failed., lastTransitionTime: '2026-01-01T00:30:00Z'}]}"
#define JOBSET                                                              \
	"kind: JobSet\n" META("bert") "}\nspec: {}\nstatus: {restarts: 0, " \
				      "replicatedJobsStatus: [{name: node}]}\n---\n"
#define JOBS                \
	"kind: Job\n" META( \
		"bert-node-0") "}\nspec: {parallelism: 2}\nstatus: {active: 2}\n---\n"
#define POD_OF(rank, spec, status)                                                     \
	"kind: Pod\n" META("bert-node-0-" rank                                         \
			   "-x") ", labels: {jobset.sigs.k8s.io/jobset-name: bert, "   \
				 "jobset.sigs.k8s.io/replicatedjob-name: node, "       \
				 "batch.kubernetes.io/job-completion-index: '" rank    \
				 "'}}\n"                                               \
				 "spec: {" spec                                        \
				 "containers: [{name: node, image: 'i:1', resources: " \
				 "{limits: {memory: 64Mi}, requests: {cpu: "           \
				 "2}}}]}\nstatus: {" status "}\n---\n"
#define PLACED(rank, status) POD_OF(rank, "nodeName: n1, ", status)
#define READY                "phase: Running, conditions: [{type: Ready, status: 'True'}]"
#define STATE(state)                                                                     \
	"containerStatuses: [{name: node, image: 'i:1', restartCount: 0, state: {" state \
	"}}]"
#define ENDED(code, reason, second)                                                \
	"phase: Failed, " STATE("terminated: {exitCode: " code ", reason: " reason \
				", finishedAt: '2026-01-01T00:00:" second "Z'}")
#define UNSCHEDULABLE(message)                                                \
	"phase: Pending, conditions: [{type: PodScheduled, status: 'False', " \
	"reason: Unschedulable, message: '" message "'}]"
#define EVENT(kind, name, type, reason, message)                                     \
	"kind: Event\ninvolvedObject: {kind: " kind ", name: " name "}\ntype: " type \
	"\nreason: " reason "\nmessage: '" message                                   \
	"'\nlastTimestamp: '2026-01-01T00:50:00Z'\n---\n"
#define NODE_OF(name, ready, rest)                                                 \
	"kind: Node\nmetadata: {name: " name "}\nstatus: {allocatable: {cpu: 4}, " \
	"conditions: [{type: Ready, status: " ready                                \
	", lastTransitionTime: '2026-01-01T00:55:00Z', message: stopped "          \
	"posting.}]}\n" rest "---\n"
#define LOG(pod, text) \
	"kind: Log\npod: " pod "\ncontainer: node\ntext: \"" text "\"\n---\n"
#define HEAD(pod, text) "kind: Head\npod: " pod "\ntext: \"" text "\"\n---\n"
#define MISSING(what)   "kind: Missing\nof: " what "\n---\n"
#define WORKLOAD(status, spec)                                                   \
	"kind: Workload\n" META("trainjob-bert-1") "}\nspec: {queueName: q" spec \
						   "}\nstatus: " status "\n---\n"
#define NO_QUOTA                                                                 \
	"{conditions: [{type: QuotaReserved, status: 'False', reason: Pending, " \
	"message: 'insufficient quota for cpu'}]}"

static inline struct view view_of(const char *yaml)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };
	struct view v;

	view_init(&v, "a", "bert");
	if (time_parse(&v.now, NOW, &err) || yaml_parse(&docs, yaml, strlen(yaml), &err))
		fail_msg("%s: %s", yaml, err.msg);
	while (docs->child) {
		if (str_eq(meta_kind(docs->child), "Pod"))
			pod_slim(docs->child); /* as view_load() does */
		view_add(&v, cJSON_DetachItemFromArray(docs, 0));
	}
	return v;
}

static inline char *text_of(const char *yaml)
{
	cleanup_view struct view v = view_of(yaml);
	cleanup_json cJSON *why = why_explain(&v);
	struct buf out = { .max = 65536 };

	why_text(&out, why);
	return (char *)out.data;
}

static inline void check(const char *what, const char *yaml, const char *want)
{
	cleanup_free char *have = text_of(yaml);

	if (!str_starts(have, want))
		fail_msg("%s:\nhave: %s\nwant: %s", what, have, want);
}

struct row {
	const char *what, *yaml, *want;
};

static inline void check_all(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(rows[i].what, rows[i].yaml, rows[i].want);
}
#define CHECK_ALL(rows) check_all(rows, N_ELEMENTS(rows))

#endif
