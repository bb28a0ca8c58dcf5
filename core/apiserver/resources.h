/*
 * resources.h - the kinds that this machine's API serves: one table.
 */
#ifndef APISERVER_RESOURCES_H
#define APISERVER_RESOURCES_H

#include <pthread.h>

#include "api/proto.h"
#include "api/schema.h"
#include "base/json.h"

struct node;

/* A metav1.TableColumnDefinition; table.c makes the cells. */
struct column {
	const char *name, *type, *format, *description;
	int priority;
	const char *path; /* a path such as ".status.state", or a function of table.c */
};

enum resource_flags {
	RESOURCE_NAMESPACED = 1,
	RESOURCE_STATUS = 2,    /* has /status, which alone writes status */
	RESOURCE_READ_ONLY = 4, /* clients may not write it */
	RESOURCE_CUSTOM = 8,    /* defined by a CustomResourceDefinition in a cluster */
	RESOURCE_LOG = 16,      /* has /log */
	RESOURCE_PUT_CREATES = 32, /* an update of a missing object creates it */
	RESOURCE_VERSIONED = 64, /* updates need a resourceVersion, as custom kinds' do */
	RESOURCE_ONE_BY_ONE = 128, /* no deletecollection */
};

struct resource {
	const char *api_version, *kind, *plural, *singular;
	unsigned flags;
	const char *const *short_names, *const *categories; /* end with NULL; or NULL */
	const struct column *columns;                       /* ends with { NULL } */
	const char *const *fields; /* of field selectors, besides name and namespace */
	const char *const *always; /* members that the Go type encodes even if empty */
	const struct proto_field *proto; /* of protobuf bodies; NULL: none */
};

extern const struct resource resources[]; /* ends with { NULL } */

/* The API group, in the arena; "" for the core group. */
const char *resource_group(struct arena *arena, const struct resource *r);
const char *resource_version(const struct resource *r); /* "v1alpha1" */
/* The GroupResource as messages print it: "trainjobs.trainer.kubeflow.org". */
const char *resource_title(struct arena *arena, const struct resource *r);
/* The GroupKind: "TrainJob.trainer.kubeflow.org". */
const char *resource_kind_title(struct arena *arena, const struct resource *r);

static inline bool resource_is(const struct resource *r, enum resource_flags flag)
{
	return r->flags & flag;
}

/* NULL: this API does not serve it. */
const struct resource *resource_find(const char *api_version, const char *plural);
const struct resource *resource_of_kind(const char *api_version, const char *kind);

/* The schemas of all kinds. */
struct schemas {
	pthread_mutex_t lock; /* of schema_for() */
	const struct schema *trainer;
	struct schema *others, *own; /* own: trainer, unless the caller has set it */
};
MUST_CHECK int schemas_load(struct schemas *ret, struct error *err);
void schemas_release(struct schemas *s);
/* The schemas of r's group, loaded on first use; owned by s. Thread-safe. */
const struct schema *schema_for(struct schemas *s, const struct resource *r);

#endif
