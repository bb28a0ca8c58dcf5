/*
 * shape.h - check that the members that we use have the right JSON types.
 *
 * The API server checks stored objects by their CRD, core/api/schema.h checks files.
 * pipeline_build() relies on neither: it first checks its input by the tables below, so
 * that later code can rely on the types. A table has only the members that we read or
 * edit; others may be anything.
 */
#ifndef TRAINER_SHAPE_H
#define TRAINER_SHAPE_H

#include "api/field.h"

enum shape_type {
	SHAPE_STRING,
	SHAPE_INT,   /* any int64 */
	SHAPE_INT32, /* -2147483648 to 2147483647 */
	SHAPE_COUNT, /* 0 to 2147483647 */
	SHAPE_BOOL,
	SHAPE_STRINGS,    /* list of strings */
	SHAPE_MAP,        /* object whose values are strings */
	SHAPE_OBJECT,     /* `of`: its members */
	SHAPE_LIST,       /* list of objects; `of`: the members of each */
	SHAPE_QUANTITY,   /* "500m", 2, "1Gi" */
	SHAPE_QUANTITIES, /* object whose values are quantities */
};

/* One member of an object. A table ends with an empty row. */
struct shape {
	const char *key;
	enum shape_type type;
	const struct shape *of; /* NULL: not checked further */
	bool required;
	int max; /* elements of a list; 0: any number */
};

#define MEMBER(name, kind, ...)                                  \
	{                                                        \
		.key = (name), .type = SHAPE_##kind, __VA_ARGS__ \
	}

/* The tables are in the files of their kinds' keys. */
extern const struct shape shape_trainjob[];       /* trainjob.c */
extern const struct shape shape_runtime[];        /* runtime.c */
extern const struct shape shape_jobset_spec[];    /* jobset.c */
extern const struct shape shape_claim_template[]; /* podspec.c */
extern const struct shape shape_pod_template[], shape_env[], shape_resources[],
	shape_metadata[]; /* podspec.c */

/*
 * Add an error for every member that differs from its table. `path` is the path of doc;
 * "" for a whole object. A null counts as absent.
 */
void shape_check(struct field_errors *errs, const char *path, const cJSON *doc,
		 const struct shape *members);

/*
 * As shape_check(), but also edits the document: quantities are rewritten as Kubernetes'
 * typed clients do ("0.5" becomes "500m"; quantity_client_text()).
 */
void shape_canonical(struct field_errors *errs, const char *path, cJSON *doc,
		     const struct shape *members);

/*
 * Remove every member that is null, at any depth. drop_omitempty() also removes
 * the members that Kubernetes' typed clients omit from a JobSet: empty lists, empty maps,
 * and the "", 0 and false of fields for which absence means the same (omitempty.c).
 * drop_omitempty_of_patch(): the same in a runtimePatch, but an empty serviceAccountName
 * stays, as it removes the runtime's.
 */
void drop_nulls(cJSON *doc);
void drop_omitempty(cJSON *doc);
void drop_omitempty_of_patch(cJSON *doc);

/* 0, or -1 with ERR_INVALID and the text of the first error. */
int shape_first_error(const struct field_errors *errs, struct error *err);

#endif
