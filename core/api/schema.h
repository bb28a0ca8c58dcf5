/*
 * schema.h - the shape of our kinds: defaults, validation, CRDs.
 *
 * One source, core/assets/schema.yaml (embedded as JSON), has every field of TrainJob,
 * TrainingRuntime and ClusterTrainingRuntime v1alpha1, with types, defaults, limits, list
 * types and the CEL rules of the CRD. The CRDs and all checks without a cluster come from
 * it, so that they agree. Follows apiextensions.k8s.io/v1 structural schemas and
 * upstream's CRDs.
 *
 * Kinds are found by apiVersion and kind of the object itself.
 */
#ifndef API_SCHEMA_H
#define API_SCHEMA_H

#include "api/field.h"
#include "base/nearest.h" /* "did you mean" */

struct schema; /* parsed once; immutable afterwards */

/* From the text of schema.yaml or its JSON. Free with schema_free(). */
MUST_CHECK int schema_load(struct schema **ret, const void *text, size_t len,
			   struct error *err);
/* The same for a text that may use the definitions of `base`, which must outlive *ret. */
MUST_CHECK int schema_load_on(struct schema **ret, const struct schema *base,
			      const void *text, size_t len, struct error *err);
void schema_free(struct schema *schema);

/* Has the schema this object's apiVersion and kind? */
bool schema_knows(const struct schema *schema, const cJSON *obj);

/*
 * Structural validation of what the user wrote, all errors at once: types, required,
 * enums, patterns, limits, duplicate list-map keys, the CEL rules (as functions),
 * metadata, and unknown fields (FIELD_UNKNOWN, "did you mean ..."). Defaults need not be
 * filled in. Paths and wording are the API server's, which does not report unknown fields
 * and integers beyond their format. With old != NULL also the transition rules ("field is
 * immutable"); unlike an API server, unchanged invalid fields are errors, too.
 */
void schema_validate(const struct schema *schema, const cJSON *obj, const cJSON *old,
		     struct field_errors *errs);

/* Fill in the defaults, as the API server would; then drop unknown fields. */
void schema_default(const struct schema *schema, cJSON *obj);
void schema_prune(const struct schema *schema, cJSON *obj);

/* The CRD of "TrainJob" or another kind, owned by the caller. NULL: no such kind. */
cJSON *schema_crd(const struct schema *schema, const char *kind);

#endif
