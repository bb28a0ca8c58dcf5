/*
 * exchange.h - one request to this machine's API and its answer. Private to
 * core/apiserver.
 *
 * Answers and messages follow k8s.io/apiserver and k8s.io/apimachinery pkg/api/errors.
 * exchange.c is the only file with the keys of metav1.Status.
 */
#ifndef APISERVER_EXCHANGE_H
#define APISERVER_EXCHANGE_H

#include "api/managers.h"
#include "api/proto.h"
#include "api/selector.h"
#include "apiserver/apiserver.h"
#include "apiserver/storage.h"
#include "base/map.h"

struct apiserver {
	struct apiserver_conf conf;
	struct storage *storage;
	struct schemas schemas;
};

struct gc;

struct exchange {
	struct apiserver *server;
	const struct httpd_request *http;
	struct httpd_response *resp;
	struct arena arena;
	struct map query; /* decoded; the first value of each name */
	char **path;      /* decoded segments */
	size_t n_path;
	const struct resource *resource;
	const char *ns, *name, *subresource; /* "" when absent */
	cJSON *body;                         /* of the request; owned */
	cJSON *warnings;                     /* array of strings; owned */
	bool dry_run;
	bool custom;         /* the path's group has custom kinds */
	bool internal;       /* by exchange_write(): may write read-only kinds */
	bool trusted;        /* needs no token */
	struct gc *gc;       /* the collection that makes this request; NULL: none */
	const char *manager; /* fieldManager, or the name in User-Agent */
	char now[TIME_TEXT_SIZE];
};

const char *exchange_query(const struct exchange *x,
			   const char *name); /* "" when absent */
bool exchange_flag(const struct exchange *x,
		   const char *name); /* present, and not "false" or "0" */
/* Does the value of that header contain `word`, in any case? */
bool exchange_header_has(const struct exchange *x, const char *header, const char *word);

/* ---- answers: each answers the request; an int is always -1 ----------------------- */
void exchange_answer(struct exchange *x, int code, cJSON *take_doc);
void exchange_text(struct exchange *x, int code, const char *type, const char *text,
		   size_t len);
/* A metav1.Status with this code, reason (NULL: none) and message. */
int exchange_refuse(struct exchange *x, int code, const char *reason, const char *fmt,
		    ...) PRINTF_LIKE(4, 5);
/* The same with StatusDetails: those of the request's object. */
int exchange_refuse_object(struct exchange *x, int code, const char *reason,
			   const char *message);
/* StatusDetails {name, group, kind}, without empty ones; owned by the caller. */
cJSON *exchange_details(const char *name, const char *group, const char *kind);
int exchange_refuse_details(struct exchange *x, int code, const char *reason,
			    cJSON *take_details, const char *message);
int exchange_not_found(struct exchange *x);        /* the named object */
int exchange_no_such_resource(struct exchange *x); /* the path names no kind */
void exchange_no_such_path(struct exchange *x);    /* the path serves no kinds */
/* errors.NewInvalid: 422 with a cause for each error. */
int exchange_invalid(struct exchange *x, const struct field_errors *errs);
/* The same for another kind, such as "CreateOptions" of "meta.k8s.io". */
int exchange_invalid_of(struct exchange *x, const char *group, const char *kind,
			const char *name, const struct field_errors *errs);
/* An invalid query parameter, a field of CreateOptions, DeleteOptions and others. */
int exchange_bad_option(struct exchange *x, enum field_error_type type, const char *field,
			const cJSON *value, const char *detail);
int exchange_conflict(struct exchange *x, const char *why); /* errors.NewConflict */
/* 400: the body does not decode as an object of the resource's kind. */
int exchange_not_of_kind(struct exchange *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
int exchange_code(const struct error *err); /* its code, if 400 to 599, or 500 */
/* An error of storage.h: 413, 409 or 500. */
int exchange_error(struct exchange *x, const struct error *err);
/* A metav1.Status, owned by the caller. reason, message: NULL: none. */
cJSON *exchange_status(int code, const char *reason, const char *message);

/*
 * Read the body into x->body; -1: answered. body_object() decodes by the Content-Type;
 * `fields` NULL: no protobuf. `kind` is named in messages.
 */
MUST_CHECK int body_object(struct exchange *x, const char *kind,
			   const struct proto_field *fields);
MUST_CHECK int body_json(struct exchange *x, const char *kind);
MUST_CHECK int body_yaml(struct exchange *x);
int body_unrecognized(struct exchange *x, const char *kind, const char *why); /* -1 */
int body_unsupported(struct exchange *x, const char *accepted);

/* Call apiserver_conf.refresh for the request's objects; -1: answered. */
int exchange_refresh(struct exchange *x);

/* Keys of the storage, in the arena. */
const char *exchange_key(struct exchange *x, const struct resource *r, const char *ns,
			 const char *name);
const char *exchange_prefix(struct exchange *x); /* of the keys of a list or watch */

/* ---- handlers; each answers the request ------------------------------------------- */
void discovery_get(struct exchange *x);       /* /version, /api, /apis */
void openapi_get(struct exchange *x);         /* /openapi/v3 */
bool discovery_has(const struct exchange *x); /* is the path one of discovery_get()? */
void read_get(struct exchange *x);
void read_list(struct exchange *x);
void watch_start(struct exchange *x);
void write_create(struct exchange *x);
void write_update(struct exchange *x);
void write_patch(struct exchange *x);
void delete_one(struct exchange *x);
void delete_collection(struct exchange *x);
void log_get(struct exchange *x);       /* pods/log */
void review_create(struct exchange *x); /* SelfSubjectAccessReview and others */

/* The objects that a list, watch or deletecollection selects. */
struct selection {
	const struct requirement *labels, *fields;
	const char *name; /* the only name, or NULL */
	bool by_key;      /* selects by name and namespace only */
};
/* Parse labelSelector and fieldSelector; -1: answered. */
MUST_CHECK int selection_read(struct exchange *x, struct selection *ret);
/* Check resourceVersion and resourceVersionMatch of a list or watch; -1: answered. */
MUST_CHECK int exchange_version_check(struct exchange *x, bool watch);
bool selection_matches(const struct selection *s, const cJSON *obj);
/* As selection_matches(); parses the object only if necessary. */
bool selection_has(const struct selection *s, const struct stored *obj);

/* The form of objects in the answer: whole, a Table, or PartialObjectMetadata. */
enum form { FORM_WHOLE, FORM_TABLE, FORM_META };
/* Choose by the Accept header; -1: answered. */
MUST_CHECK int form_read(struct exchange *x, enum form *ret);
/* Convert an object or a list; owned by the caller. `first`: with columnDefinitions. */
cJSON *form_object(struct exchange *x, enum form form, cJSON *take_obj, bool first);
cJSON *form_list(struct exchange *x, enum form form, cJSON *take_list);

/* As apiserver_write(), to by->server and as a part of by->gc. */
MUST_CHECK int exchange_write(const struct exchange *by, const char *method,
			      const char *path, const cJSON *body, cJSON **ret,
			      struct error *err);

#endif
