/*
 * input.h - the documents that a user gives, and where in which file each stands.
 *
 * A file holds several documents, or `v1 List`s of them. Everything that is
 * wrong with them is reported at once, a line each:
 *
 *     kftrainer submit: job.yaml:3:5: spec.trainer.numNodes: Invalid value: ...
 */
#ifndef SPEC_INPUT_H
#define SPEC_INPUT_H

#include "api/field.h"
#include "api/schema.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/yaml.h"
#include "spec/reporter.h"

/* Larger than any valid file. */
#define INPUT_MAX ((size_t)16 * 1024 * 1024)
enum { INPUT_ERRORS_MAX = 100 };

struct source {
	const char *name; /* "job.yaml", "stdin" */
	struct buf text;
	cJSON *docs;                 /* an array */
	struct yaml_places *places;  /* once one is asked for */
	size_t reported, unreported; /* errors in it */
	struct source *next;
};

struct doc {
	cJSON *obj;            /* the source's */
	cJSON *given;          /* a copy from before the defaults, the doc's; or NULL */
	struct source *source; /* one without a name: not from a file */
	int index;             /* the document's number in its source */
	const char *prefix;    /* "items[2]" within a List, or "" */
	struct field_errors errs;
};

struct input {
	struct arena arena;
	struct source *sources;
	struct doc *docs;
	size_t n, cap;
};

/* Add the documents of a file; "-" is stdin. One line says why not. */
MUST_CHECK int input_read(struct input *in, const char *path, struct error *err);

/* A document that no file has; the input's from now on. */
struct doc *input_add(struct input *in, cJSON *take_obj);

/* "TrainJob" and the like, of Trainer's API group. */
bool doc_is(const struct doc *doc, const char *kind);
bool doc_is_runtime(const struct doc *doc); /* of either kind */

/*
 * A runtime or a TrainJob? What is nearly one, or says no kind at all, gets an
 * error.
 */
bool doc_is_known(struct doc *doc, const struct schema *schema);

/*
 * Hold it against the schema; a runtime also against the rules of its webhook.
 * What is wrong is added to its errs. Defaults are filled in.
 */
void doc_check(struct doc *doc, const struct schema *schema);

/*
 * Report its errors, each after `word`; returns how many there are. At most
 * INPUT_ERRORS_MAX of a file are reported: input_tell_rest() counts the others.
 */
size_t doc_tell(const struct doc *doc, const char *word, const struct reporter *to);
void doc_tell_error(const struct doc *doc, const struct field_error *e, const char *word,
		    const struct reporter *to);
bool doc_may_tell(const struct doc *doc); /* one more? It is counted */
void input_tell_rest(const struct input *in, const struct reporter *to);

/* Warn that it is ignored: only what `counts` names is used. */
void doc_tell_left_out(const struct doc *doc, const char *counts,
		       const struct reporter *to);

/* "job.yaml:3:5: ", where the field stands; "" for a document without a file. */
bool doc_locate(const struct doc *doc, const char *path, int *ret_line, int *ret_column);
const char *doc_place(struct arena *arena, const struct doc *doc, const char *path);

/* The schema inside this binary. */
MUST_CHECK int input_schema(struct schema **ret, struct error *err);

static inline void cleanup_schemap(struct schema **schema)
{
	if (*schema)
		schema_free(*schema);
}
#define cleanup_schema __attribute__((cleanup(cleanup_schemap)))

void input_release(struct input *in);
#define cleanup_input __attribute__((cleanup(input_release)))

#endif
