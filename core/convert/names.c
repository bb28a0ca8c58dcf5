/*
 * names.c - translate the names that V1's pods and objects had (convert/names.h).
 *
 * Training Operator: JOB-ROLE-N, a service for each pod, thus also JOB-ROLE-N.NS.svc.
 * MPI Operator: JOB-worker-N and JOB-launcher in the service JOB (before 0.5: JOB-worker);
 * ConfigMap JOB-config, Secret JOB-ssh, files in /etc/mpi.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "convert/names.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/podspec.h"

#define MPI_KINDS (KIND_MPI | KIND_MPI2)

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* ---- indexes: 7, $(I), ${i}, $i, $((i+1)), {0..3}, [0-3], %d, * ---- */

enum { INDEX_MAX = 200 };

static const char *after_pair(const char *p, char open, char close)
{
	const char *from = p;
	int depth = 0;

	for (; *p && *p != '\n' && p - from < INDEX_MAX; p++) {
		depth += (*p == open) - (*p == close);
		if (!depth)
			return p + 1;
	}
	return NULL;
}

static const char *after_format(const char *p)
{
	p += strspn(p, "0123456789");
	return *p && strchr("dis", *p) ? p + 1 : NULL;
}

static const char *after_variable(const char *p)
{
	const char *from = p;

	if (*p == '(')
		return after_pair(p, '(', ')');
	if (*p == '{')
		return after_pair(p, '{', '}');
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return p > from ? p : NULL;
}

/* The end of one piece of an index, or NULL. */
static const char *after_piece(const char *p)
{
	switch (*p) {
	case '0' ... '9':
	case '*':
		return p + 1;
	case '{':
		return after_pair(p, '{', '}');
	case '[':
		return after_pair(p, '[', ']');
	case '%':
		return after_format(p + 1);
	case '$':
		return after_variable(p + 1);
	default:
		return NULL;
	}
}

/* The end of an index that no word character follows; NULL: none. */
static const char *after_index(const char *text, bool *ret_is_number)
{
	const char *p = text, *next;

	while ((next = after_piece(p)))
		p = next;
	*ret_is_number = text[strspn(text, "0123456789")] == *p &&
			 strspn(text, "0123456789") == (size_t)(p - text);
	return p == text || is_word(*p) ? NULL : p;
}

/* ---- hosts ---- */

/* A name that begins a text: its end (NULL: no name), and its new name, or why none. */
struct name {
	const char *end, *now, *why;
	enum grade grade; /* of a name that stays as it is */
};

static const char *subdomain_of(const struct v1_job *j)
{
	return strchr(v1_pod_host(j, NODE, 0), '.') + 1;
}

/* Skip MPI Operator's service as the domain of a pod: v1_pod_host() has the new one. */
static const char *after_service(const struct v1_job *j, const char *text)
{
	const char *rest = *text == '.' ? str_after(text + 1, j->name) : NULL;
	const char *worker = rest ? str_after(rest, "-worker") : NULL;

	if (!(j->kind->bit & MPI_KINDS) || !rest)
		return text;
	if (worker && !is_word(*worker))
		return worker;
	return is_word(*rest) ? text : rest;
}

static const char *pods_of(const struct v1_job *j, const struct role *r)
{
	return arena_printf(j->arena, "%s-%s-0-N.%s", j->name, r->rjob, subdomain_of(j));
}

/* The name of a pod; `text` is what follows the role's name and "-": an index. */
static struct name pod_at(const struct v1_job *j, const struct role *r, const char *text)
{
	bool is_number;
	const char *end = after_index(text, &is_number);
	int64_t index = end && is_number ? strtoll(text, NULL, 10) : 0;
	struct name ret = { .end = end, .grade = GRADE_LOST };

	if (!end && !is_word(*text)) {
		ret.end = text;
		ret.why = arena_printf(
			j->arena, "the name of a pod is put together here: it is now %s",
			pods_of(j, r));
	} else if (end && index >= r->n) {
		ret.grade = GRADE_APPROXIMATE;
		ret.why = arena_printf(j->arena, "the job has no %s %.*s", r->name,
				       (int)(end - text), text);
	} else if (end && is_number) {
		ret.now = v1_pod_host(j, r->rjob, r->first + index);
	} else if (end && r->first) {
		ret.why = arena_printf(
			j->arena,
			"pods are now called %s, and this one's N is higher by %" PRId64,
			pods_of(j, r), r->first);
	} else if (end) {
		ret.now = arena_printf(j->arena, "%s-%s-0-%.*s.%s", j->name, r->rjob,
				       (int)(end - text), text, subdomain_of(j));
	}
	if (ret.now)
		ret.end = after_service(j, end);
	return ret;
}

/* A role's name without an index; `text` follows it: a domain, or no name. */
static struct name role_at(const struct v1_job *j, const struct role *r, const char *text)
{
	struct name ret = { .end = text, .grade = GRADE_APPROXIMATE };

	if (is_word(*text))
		return (struct name){ 0 };
	if (str_eq(r->rjob, LAUNCHER)) {
		ret.now = v1_pod_host(j, LAUNCHER, 0);
		ret.end = after_service(j, text);
	} else if (j->kind->bit & MPI_KINDS && *text == '.' && is_word(text[1])) {
		ret.now = subdomain_of(j);
	} else {
		ret.why = arena_printf(j->arena, "pods are now called %s", pods_of(j, r));
	}
	return ret;
}

static struct name host_at(const struct v1_job *j, const char *text)
{
	for (size_t i = 0; i < j->n_roles; i++) {
		const struct role *r = &j->roles[i];
		size_t len = strlen(r->name);
		struct name ret;

		if (strncasecmp(text, r->name, len))
			continue;
		ret = text[len] == '-' ? pod_at(j, r, text + len + 1)
				       : role_at(j, r, text + len);
		if (ret.end)
			return ret;
	}
	return (struct name){ 0 };
}

/* ---- objects and files of MPI jobs ---- */

static const struct {
	unsigned kinds;
	const char *suffix, *now;
} objects[] = {
	{ MPI_KINDS, "config", "mpi-hostfile" },
	{ KIND_MPI2, "ssh", "mpi-ssh-auth" },
};

static struct name object_at(const struct v1_job *j, const char *text)
{
	for (size_t i = 0; i < N_ELEMENTS(objects); i++) {
		const char *end = str_after(text, objects[i].suffix);

		if (end && objects[i].kinds & j->kind->bit && !is_word(*end))
			return (struct name){ .end = end,
					      .now = arena_printf(j->arena, "%s-%s",
								  j->name,
								  objects[i].now) };
	}
	return (struct name){ 0 };
}

static struct name file_at(const struct v1_job *j, const char *text)
{
	const char *end = str_after(text, "/etc/mpi/kubexec.sh");
	struct name ret = { .grade = GRADE_LOST };

	if (end) {
		ret.now = v1_mpi_transport(j) ? CARRY_PATH "/mpi-launch" : "ssh";
	} else if ((end = str_after(text, "discover_hosts.sh"))) {
		ret.why = "/etc/mpi/discover_hosts.sh does not exist; the number of "
			  "workers is fixed";
	} else if ((end = str_after(text, "/opt/kube/kubectl"))) {
		ret.why = "workers are not reached by kubectl any more";
	}
	ret.end = end;
	return ret;
}

/* ---- texts ---- */

/* $JOB-worker-0, which may be a pod of this job. */
static struct name host_of_variable(const struct v1_job *j, const char *text)
{
	const char *rest = after_piece(text);
	struct name ret = { 0 };

	if (!rest || *rest != '-')
		return ret;
	ret = host_at(j, rest + 1);
	if (ret.now) {
		ret.why = arena_printf(j->arena,
				       "if this is a pod of the job, it is now called %s",
				       ret.now);
		ret.now = NULL;
	}
	return ret;
}

static struct name name_at(const struct v1_job *j, const char *text, const char *at)
{
	bool begins = at == text || !(is_word(at[-1]) || at[-1] == '.');
	const char *rest = begins ? str_after(at, j->name) : NULL;
	struct name ret = { 0 };

	if (rest && *rest == '-')
		ret = host_at(j, rest + 1);
	else if (*at == '$')
		ret = host_of_variable(j, at);
	if (rest && *rest == '-' && !ret.end && j->kind->bit & MPI_KINDS)
		ret = object_at(j, rest + 1);
	if (!ret.end && j->kind->bit & MPI_KINDS && (*at == '/' || *at == 'd'))
		ret = file_at(j, at);
	return ret;
}

struct renamed v1_rename_in_text(const struct v1_job *j, const char *text)
{
	cleanup_buf struct buf out = { .max = SIZE_MAX };
	struct renamed ret = { .now = text };
	const char *from = text;

	for (const char *at = text; *at;) {
		struct name name = name_at(j, text, at);

		if (name.end && !name.now && (!ret.why || name.grade > ret.grade)) {
			ret.why = name.why;
			ret.grade = name.grade;
		}
		if (name.now) {
			buf_add(&out, from, (size_t)(at - from));
			buf_adds(&out, name.now);
			from = name.end;
		}
		at = name.end && name.end > at ? name.end : at + 1;
	}
	if (from == text)
		return ret;
	buf_adds(&out, from);
	ret.now = arena_strdup(j->arena, (const char *)out.data);
	if (strstr(text, "kubectl"))
		ret = (struct renamed){ ret.now, GRADE_LOST,
					"kubectl finds no pod by a host name: the names "
					"of pods now end in random letters" };
	return ret;
}

/* A container may mount a volume that the operator adds to its pod. */
static const char *volume_now(const struct v1_job *j, const char *name)
{
	static const struct {
		unsigned kinds;
		const char *name, *now;
	} volumes[] = {
		{ MPI_KINDS, "mpi-job-config", MPI_HOSTFILE_VOLUME },
		{ KIND_MPI2, "ssh-auth", MPI_KEY_VOLUME },
	};

	for (size_t i = 0; i < N_ELEMENTS(volumes); i++)
		if (j->kind->bit & volumes[i].kinds && str_eq(volumes[i].name, name))
			return volumes[i].now;
	return name;
}

struct renamed v1_rename_field(const struct v1_job *j, const char *parent,
			       const char *key, const char *text)
{
	static const char *const texts[] = { "args",      "command",  "value", "host",
					     "hostnames", "searches", NULL };
	static const char *const refs[] = { "configMap",       "configMapRef",
					    "configMapKeyRef", "secretRef",
					    "secretKeyRef",    NULL };
	struct renamed ret = { .now = text };
	const char *rest;
	struct name name;

	if (str_in(key, texts))
		return v1_rename_in_text(j, text);
	if (str_eq(parent, "volumeMounts") && str_eq(key, "name"))
		ret.now = volume_now(j, text);
	if (!(j->kind->bit & MPI_KINDS) ||
	    (!str_eq(key, "secretName") &&
	     !(str_eq(key, "name") && parent && str_in(parent, refs))))
		return ret;
	rest = str_after(text, j->name);
	if (!rest || *rest != '-')
		return ret;
	name = object_at(j, rest + 1);
	if (name.end && !*name.end)
		ret.now = name.now;
	return ret;
}

void v1_rename_fields(const struct v1_job *j, const char *parent, const char *key,
		      cJSON *node)
{
	const char *text = cJSON_GetStringValue(node);
	cJSON *child;

	if (text && key) {
		const char *now = v1_rename_field(j, parent, key, text).now;

		if (now != text)
			cJSON_SetValuestring(node, now);
	}
	json_each(child, node)
		if (cJSON_IsArray(node))
			v1_rename_fields(j, parent, key, child);
		else
			v1_rename_fields(j, key, child->string, child);
}

bool v1_is_operator_label(const char *text)
{
	static const char *const prefixes[] = { "training.kubeflow.org/",
						"mpi-job-",
						"pytorch-job-",
						"pytorch-replica-",
						"tf-job-",
						"tf-replica-",
						NULL };

	for (size_t i = 0; prefixes[i]; i++)
		if (str_starts(text, prefixes[i]))
			return true;
	return false;
}
