/*
 * patch.h - strategic merge patch of a JobSetSpec, PodTemplateSpec or whole object.
 *
 * Follows k8s.io/apimachinery/pkg/util/strategicpatch (StrategicMergePatch)
 * with the patch tags of JobSet v1alpha2 and core/v1, down to the order of
 * lists after a merge. Merge keys are in one table in patch.c. Directives
 * ($patch, $retainKeys, $setElementOrder, $deleteFromPrimitiveList) act only
 * where the structure of the type allows them, never in free string maps
 * (labels, nodeSelector), where such keys are refused by validation.
 */
#ifndef API_PATCH_H
#define API_PATCH_H

#include "base/json.h"

enum patch_type { PATCH_JOBSET_SPEC, PATCH_POD_TEMPLATE, PATCH_OBJECT };

/* Merge `patch` into `doc`, in place; unchanged on failure. ERR_INVALID, ERR_LIMIT. */
MUST_CHECK int patch_strategic(cJSON *doc, const cJSON *patch, enum patch_type type,
			       struct error *err);

/* Merge `patch` into `doc` by RFC 7386 (JSON Merge Patch). */
void patch_merge(cJSON *doc, const cJSON *patch);

#endif
