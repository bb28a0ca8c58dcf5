/*
 * names.h - check names, labels and keys of Kubernetes objects.
 *
 * Follows k8s.io/apimachinery pkg/util/validation and pkg/api/validation. The
 * _invalid functions return the error as the end of a sentence ("must ..."), or NULL
 * for a valid name.
 */
#ifndef API_NAMES_H
#define API_NAMES_H

#include <stdbool.h>

#include "base/error.h"

enum {
	NAME_LABEL_MAX = 63,      /* DNS label, label value, name part of a key */
	NAME_SUBDOMAIN_MAX = 253, /* names of most objects */
};

bool name_is_dns1035(const char *s);               /* the characters, not the length */
const char *name_label_invalid(const char *s);     /* DNS-1123 label: "my-name" */
const char *name_subdomain_invalid(const char *s); /* DNS-1123 subdomain: "my.name" */
const char *name_key_invalid(const char *s);   /* label or annotation key: "a.b/Name" */
const char *name_value_invalid(const char *s); /* label value; empty is valid */

/*
 * ERR_USAGE: the name of a TrainJob that is empty, or would be another path in a URL
 * (apimachinery pkg/api/validation/path).
 */
MUST_CHECK int name_check_job(const char *name, struct error *err);

#endif
