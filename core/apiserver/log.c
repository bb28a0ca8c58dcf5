/*
 * log.c - answers pods/log (apiserver/exchange.h).
 *
 * Chooses the container and the options. Follows
 * k8s.io/kubernetes/pkg/registry/core/pod (LogLocation) and pkg/kubelet.
 */
#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/podcause.h"

static int read_number(struct exchange *x, const char *name, int64_t least, int64_t *ret,
		       struct field_errors *errs)
{
	const char *text = exchange_query(x, name);
	cleanup_json cJSON *value = NULL;
	struct error err = { 0 };

	if (!*text)
		return 0;
	if (str_int(ret, text, INT64_MIN, INT64_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest",
				       "unable to decode query: %s: %s", name, err.msg);
	if (*ret >= least)
		return 0;
	value = json_new_int(*ret);
	field_error_add(errs, FIELD_INVALID, name, value,
			least ? "must be greater than 0"
			      : "must be greater than or equal to 0");
	return 0;
}

static int read_since(struct exchange *x, struct log_options *o,
		      struct field_errors *errs)
{
	const char *text = exchange_query(x, "sinceTime");
	struct error err = { 0 };
	int64_t seconds = 0;

	if (read_number(x, "sinceSeconds", 1, &seconds, errs))
		return -1;
	if (seconds)
		o->since = clock_now() - seconds;
	if (!*text)
		return 0;
	if (time_parse(&o->since, text, &err))
		return exchange_refuse(x, 400, "BadRequest",
				       "unable to decode query: sinceTime: %s", err.msg);
	if (seconds)
		field_error_add(
			errs, FIELD_FORBIDDEN, "", NULL,
			"at most one of `sinceTime` or `sinceSeconds` may be specified");
	return 0;
}

static int read_options(struct exchange *x, struct log_options *o)
{
	cleanup_field_errors struct field_errors errs = { .max = 10 };

	*o = (struct log_options){ .container = exchange_query(x, "container"),
				   .follow = exchange_flag(x, "follow"),
				   .previous = exchange_flag(x, "previous"),
				   .timestamps = exchange_flag(x, "timestamps"),
				   .tail = -1,
				   .limit = -1 };
	if (read_number(x, "tailLines", 0, &o->tail, &errs) ||
	    read_number(x, "limitBytes", 1, &o->limit, &errs) || read_since(x, o, &errs))
		return -1;
	if (errs.n)
		return exchange_invalid_of(x, "", "PodLogOptions", x->name, &errs);
	return 0;
}

static const char *names_of(struct exchange *x, const cJSON *list)
{
	size_t n = 0, max = (size_t)cJSON_GetArraySize(list);
	const char **names = arena_alloc(&x->arena, (max + 1) * sizeof(*names));
	const cJSON *c;

	json_each(c, list)
		if (json_str(c, "name"))
			names[n++] = json_str(c, "name");
	return str_join(&x->arena, names, " ");
}

/* The named container, or the only one. */
static int choose(struct exchange *x, const cJSON *pod, struct log_options *o)
{
	const cJSON *init = json_get(pod, "spec", "initContainers");
	const cJSON *all = json_get(pod, "spec", "containers");
	const char *more = "";

	if (*o->container) {
		if (json_find_const(all, "name", o->container) ||
		    json_find_const(init, "name", o->container))
			return 0;
		return exchange_refuse(x, 400, "BadRequest",
				       "container %s is not valid for pod %s",
				       o->container, x->name);
	}
	if (cJSON_GetArraySize(all) == 1) {
		o->container = json_str(all->child, "name");
		return 0;
	}
	if (cJSON_GetArraySize(init))
		more = arena_printf(&x->arena, " or one of the init containers: [%s]",
				    names_of(x, init));
	return exchange_refuse(x, 400, "BadRequest",
			       "a container name must be specified for pod %s, choose "
			       "one of: [%s]%s",
			       x->name, names_of(x, all), more);
}

/* Has the container started; with `previous`, has an earlier run of it ended? */
static int check_begun(struct exchange *x, const cJSON *pod, const struct log_options *o)
{
	const cJSON *status = pod_container_status(pod, o->container);
	const cJSON *waiting = json_get(status, "state", "waiting");
	const char *reason = json_str(waiting, "reason");

	if (o->previous && !json_get(status, "lastState", "terminated"))
		return exchange_refuse(x, 400, "BadRequest",
				       "previous terminated container \"%s\" in pod "
				       "\"%s\" not found",
				       o->container, x->name);
	if (!status || (waiting && !json_get(status, "lastState", "terminated")))
		return exchange_refuse(
			x, 400, "BadRequest",
			"container \"%s\" in pod \"%s\" is waiting to start: %s",
			o->container, x->name, reason ? reason : "ContainerCreating");
	return 0;
}

void log_get(struct exchange *x)
{
	const struct apiserver_conf *conf = &x->server->conf;
	struct error err = { 0 };
	struct log_options o;
	cleanup_json cJSON *pod = NULL;

	if (read_options(x, &o))
		return;
	pod = apiserver_get(x->server, "v1", "Pod", x->ns, x->name);
	if (!pod) {
		exchange_not_found(x);
		return;
	}
	if (choose(x, pod, &o) || check_begun(x, pod, &o))
		return;
	x->resp->status = 200;
	x->resp->content_type = "text/plain";
	if (!conf->log)
		exchange_no_such_resource(x);
	else if (conf->log(conf->ctx, pod, &o, x->resp, &err))
		exchange_refuse(x, exchange_code(&err), "InternalError", "%s", err.msg);
}
