/*
 * names.h - translate names of V1's pods and objects. Private to core/convert.
 */
#ifndef CONVERT_NAMES_H
#define CONVERT_NAMES_H

#include "convert/job.h"

/* A text with new names; the same pointer if none changed. */
struct renamed {
	const char *now;
	enum grade grade; /* of the field, if `why` is set */
	const char *why;  /* why a name in it is not translated; NULL: all are */
};
struct renamed v1_rename_in_text(const struct v1_job *j, const char *text);
/* The same for a field of a pod template, by its key and that of its parent. */
struct renamed v1_rename_field(const struct v1_job *j, const char *parent,
			       const char *key, const char *text);
/* Rename in all fields below the node; its parent's key and its own, NULL at the root. */
void v1_rename_fields(const struct v1_job *j, const char *parent, const char *key,
		      cJSON *node);

/* Is this a label that the operators, in any version, set on pods? */
bool v1_is_operator_label(const char *text);
#define V1_NEW_LABELS                                           \
	"pods have the labels jobset.sigs.k8s.io/jobset-name, " \
	"jobset.sigs.k8s.io/replicatedjob-name and "            \
	"batch.kubernetes.io/job-completion-index instead"

#endif
