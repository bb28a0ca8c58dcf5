/*
 * golden.h - the parts of the golden tests (README says what a case is).
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "api/field.h"
#include "api/schema.h"
#include "base/arena.h"
#include "trainer/pipeline.h"

/* ---- world.c: an API server and a controller, as far as the pipeline needs them ---- */

struct world {
	const struct schema *schema;
	cJSON *stored; /* what was created, as admitted; an array */
	cJSON *built;  /* what the pipeline made of it; an array, in build order */
	bool client;   /* as a client's dry run: nothing has a uid */
	struct plugin_env env;
	struct pipeline pipeline;
	char trouble[1200]; /* why the last pipeline_build() failed, or "" */
};

struct answer {
	int code;      /* HTTP: 200, 201, 400, 403, 404, 422 */
	int warnings;  /* how many */
	cJSON *errors; /* "path: type", sorted, each once */
	cJSON *texts;  /* the whole of each error */
};

/* The namespace that a case's ${NS} stands for, and what it is in expected.json. */
#define NAMESPACE       "golden-namespace"
#define NAMESPACE_SHORT "NS"

/* What the clock says when the webhook gives runtimePatches a time. */
#define NOW "2001-02-03T04:05:06Z"

void world_init(struct world *w, const struct schema *schema);
void world_release(struct world *w);
#define cleanup_world __attribute__((cleanup(world_release)))

/* POST the object; the answer is the caller's. */
void world_create(struct world *w, const cJSON *obj, struct answer *answer);
/* {kind, name, merge}: of a TrainJob, or of what was built; then reconcile. */
void world_patch(struct world *w, const cJSON *what, struct answer *answer);
void world_delete(struct world *w, const cJSON *what, struct answer *answer);
void answer_release(struct answer *answer);
#define cleanup_answer __attribute__((cleanup(answer_release)))

/* ---- normal.c: documents without what does not count -------------------------------- */

/* "JobSet/tj", "PodGroup.scheduling.x-k8s.io/tj" */
const char *object_title(struct arena *arena, const cJSON *obj);

/* An object of ours as a check of expected.json has it. The caller's. */
cJSON *normal_got(const cJSON *obj);

/* An object of expected.json; NULL when that one is not compared at all. */
cJSON *normal_expected(const char *title, const cJSON *obj);

/* Upstream's message of a refusal, as a sorted array of "path: type". */
cJSON *errors_of_message(const char *message);
cJSON *sorted_set(cJSON *take_strings);

/* ---- diff.c ---------------------------------------------------------------------------- */

/* Says every difference as a line "path: expected X, got Y" in `out`. */
void diff_docs(struct buf *out, const char *path, const cJSON *expected,
	       const cJSON *got);

/* The node at a path of expected.json's "equal": "spec.a[name].b[0].c[a.b/c]". */
const cJSON *node_at(const cJSON *doc, const char *path);

#endif
