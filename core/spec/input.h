/*
 * input.h - the documents of a submission, their positions in files, and their errors.
 *
 * A file holds any number of documents, or lists of them (`v1 List`, TrainJobList). All
 * errors are reported at once, a line each:
 *
 *     kftrainer submit: job.yaml:3:5: spec.trainer.numNodes: Invalid value: ...
 */
#ifndef SPEC_INPUT_H
#define SPEC_INPUT_H

#include "api/field.h"
#include "api/schema.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/yaml.h"
#include "spec/reporter.h"

/* The largest file, and all files together: larger than any valid ones. */
#define INPUT_MAX     ((size_t)16 * 1024 * 1024)
#define INPUT_ALL_MAX (4 * INPUT_MAX)
enum { INPUT_ERRORS_MAX = 100 };

/* The row of -R in a table of options. */
#define INPUT_RECURSIVE(s, member) \
	OPT_BOOL('R', "recursive", "read directories with all below them", s, member)

struct source {
	const char *name; /* "job.yaml", "stdin" */
	struct buf text;
	cJSON *docs;                 /* an array */
	struct yaml_places *places;  /* made on first use */
	size_t reported, unreported; /* errors of its documents */
	struct source *next;
};

struct doc {
	cJSON *obj;            /* the source's */
	cJSON *given;          /* a copy without defaults, owned by the doc; or NULL */
	struct source *source; /* its name is NULL if not from a file */
	int index;             /* the document's number in its source */
	const char *prefix;    /* "items[2]" within a List, or "" */
	struct field_errors errs;
};

struct input {
	struct arena arena;
	bool recursive; /* directories with all below them */
	struct source *sources;
	struct doc *docs;
	size_t n, cap, bytes;
	const char *empty; /* directories without a file, or NULL */
};

/*
 * Add the documents of a file, a directory or a URL (files.h); "-" is stdin. Any other
 * path may be a list separated by commas, or a pattern of glob(3). ERR_LIMIT: too large;
 * ERR_INVALID: unreadable, or without a document; syntax errors begin with the line.
 */
MUST_CHECK int input_read(struct input *in, const char *path, struct error *err);
/* After the last one: an error if all were directories without a file. */
MUST_CHECK int input_end(const struct input *in, struct error *err);

/*
 * Add a document that is in no file; the input owns both it and the returned doc, which
 * is valid until the next document is added.
 */
struct doc *input_add(struct input *in, cJSON *take_obj);

/* Is the object of this kind ("TrainJob") in Trainer's API group? */
bool doc_is(const struct doc *doc, const char *kind);
bool doc_is_runtime(const struct doc *doc); /* of either kind */

/*
 * Is the object a runtime or a TrainJob? Adds an error if the kind is nearly one of them
 * (misspelled) or missing.
 */
bool doc_is_known(struct doc *doc, const struct schema *schema);

/*
 * Check the document against the schema, a runtime also by its webhook's rules. Adds to
 * its errs, and sets defaults.
 */
void doc_check(struct doc *doc, const struct schema *schema);
/* Add errors of fields that have none yet. */
void doc_add_errors(struct doc *doc, const struct field_errors *more);

/*
 * Report the document's errors, each after `word`; returns their number. At most
 * INPUT_ERRORS_MAX of a file are reported; input_report_rest() reports how many more.
 */
size_t doc_report(const struct doc *doc, const char *word, const struct reporter *to);
void doc_report_error(const struct doc *doc, const struct field_error *e,
		      const char *word, const struct reporter *to);
bool doc_may_report(const struct doc *doc); /* may another error be reported? Counts it */
void input_report_rest(const struct input *in, const struct reporter *to);

/* Warn that the document is ignored because only `counts` are used. */
void doc_warn_ignored(const struct doc *doc, const char *counts,
		      const struct reporter *to);

/*
 * The position of a field: line and column (false: unknown), or "job.yaml:3:5: " ("" for
 * a document without a file), in the arena.
 */
bool doc_locate(const struct doc *doc, const char *path, int *ret_line, int *ret_column);
const char *doc_place(struct arena *arena, const struct doc *doc, const char *path);

/* The schema inside this binary; free with schema_free(). */
MUST_CHECK int input_schema(struct schema **ret, struct error *err);

CLEANUP(schema, struct schema *, schema_free);
#define cleanup_schema __attribute__((cleanup(cleanup_schemap)))

void input_release(struct input *in);
#define cleanup_input __attribute__((cleanup(input_release)))

#endif
