/* jobs_pod.c - build a pod as the Job controller does (jobs/jobs_impl.h). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"
#include "jobs/jobs_impl.h"

#define JS    "jobset.sigs.k8s.io/"
#define BATCH "batch.kubernetes.io/"

/* k8s.io/apiserver/pkg/storage/names: the maximum length before the random suffix. */
enum { MAX_GENERATED = 63 - 5, SUFFIX = 5 };

/*
 * The five characters that an API server would choose at random. Here they are a hash of
 * the Job, index and serial, so that the same events give the same names.
 */
static void suffix(char ret[SUFFIX + 1], const char *job, int index, unsigned serial)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	cleanup_free char *seed = jobs_printf("%s/%d/%u", job, index, serial);
	unsigned char sum[DIGEST_MAX];

	digest_of(DIGEST_SHA1, seed, strlen(seed), sum);
	for (int i = 0; i < SUFFIX; i++)
		ret[i] = alphabet[sum[i] % (sizeof(alphabet) - 1)];
	ret[SUFFIX] = 0;
}

/* A uid like an API server's, but equal names have equal uids. */
char *jobs_uid(const char *space, const char *name)
{
	cleanup_free char *seed = jobs_printf("%s/%s", space, name);
	unsigned char s[DIGEST_MAX];

	digest_of(DIGEST_SHA1, seed, strlen(seed), s);
	s[6] = (unsigned char)((s[6] & 0x0f) | 0x50);
	s[8] = (unsigned char)((s[8] & 0x3f) | 0x80);
	return jobs_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			   "%02x%02x%02x%02x%02x%02x",
			   s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9],
			   s[10], s[11], s[12], s[13], s[14], s[15]);
}

/* podGenerateNameWithIndex() of the Job controller, and the API server's suffix. */
char *pod_new_name(const struct jobs_job *job, int index, unsigned serial)
{
	cleanup_free char *tail =
		index < 0 ? jobs_printf("-") : jobs_printf("-%d-", index);
	cleanup_free char *prefix = NULL;
	int max = MAX_GENERATED - (int)strlen(tail);
	char end[SUFFIX + 1];

	prefix = jobs_printf("%.*s%s", max, job->name, tail);
	suffix(end, job->name, index, serial);
	return jobs_printf("%s%s", prefix, end);
}

static bool has_dns(const struct jobs *j)
{
	return json_bool((const cJSON *)j->jobset, true, "spec", "network",
			 "enableDNSHostnames");
}

/*
 * The names that a cluster's DNS and the pod's hosts file would resolve; ends with NULL.
 * The list and its names are the caller's.
 */
char **pod_dns_names(const struct jobs *j, const struct jobs_job *job, int index,
		     const char *pod)
{
	static const char *const after_ns[] = { "", ".svc", ".svc.cluster.local" };
	char **ret = xcalloc(6, sizeof(*ret));
	size_t n = 0;

	if (index < 0) {
		ret[n] = xstrdup(pod);
		return ret;
	}
	if (has_dns(j)) {
		ret[n++] = jobs_printf("%s-%d.%s", job->name, index, j->subdomain);
		for (size_t i = 0; i < 3; i++)
			ret[n++] = jobs_printf("%s.%s%s", ret[0], j->ns, after_ns[i]);
	}
	ret[n] = jobs_printf("%s-%d", job->name, index);
	return ret;
}

struct group {
	int replicas, index;
};

/* The replicas of one group (NULL: of all), and the index of this Job among them. */
static struct group group_of(const struct jobs *j, const struct jobs_job *job,
			     const char *name)
{
	struct group g = { 0 };

	for (size_t i = 0; i < j->n_rjobs; i++) {
		const struct jobs_rjob *r = &j->rjobs[i];

		if (name && !str_eq(name, r->group))
			continue;
		if (r == job->rjob)
			g.index = g.replicas + job->replica;
		g.replicas += r->replicas;
	}
	return g;
}

static void put_int_text(cJSON *map, const char *key, int v)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", v);
	json_put_str(map, text, key);
}

static void put_job_key(const struct jobs *j, const struct jobs_job *job, cJSON *map)
{
	cleanup_free char *key = jobs_printf("%s/%s", j->ns, job->name);
	char hex[DIGEST_HEX_SIZE];

	json_put_str(map, digest_hex_of(DIGEST_SHA1, key, strlen(key), hex),
		     JS "job-key");
}

void jobs_put_jobset_keys(const struct jobs *j, const struct jobs_job *job, cJSON *map)
{
	const cJSON *boss = json_get((const cJSON *)j->jobset, "spec", "coordinator");
	struct group all = group_of(j, job, NULL),
		     own = group_of(j, job, job->rjob->group);

	json_put_str(map, j->name, JS "jobset-name");
	json_put_str(map, j->uid, JS "jobset-uid");
	json_put_str(map, job->rjob->name, JS "replicatedjob-name");
	put_int_text(map, JS "restart-attempt", job->attempt);
	put_int_text(map, JS "replicatedjob-replicas", job->rjob->replicas);
	put_int_text(map, JS "global-replicas", all.replicas);
	put_int_text(map, JS "job-index", job->replica);
	put_job_key(j, job, map);
	put_int_text(map, JS "job-global-index", all.index);
	json_put_str(map, job->rjob->group, JS "group-name");
	put_int_text(map, JS "group-replicas", own.replicas);
	put_int_text(map, JS "job-group-index", own.index);
	if (boss) {
		cleanup_free char *where = jobs_printf(
			"%s-%s-%d-%d.%s", j->name, json_str(boss, "replicatedJob"),
			(int)json_int(boss, 0, "jobIndex"),
			(int)json_int(boss, 0, "podIndex"), j->subdomain);

		json_put_str(map, where, JS "coordinator");
	}
}

static void put_env(cJSON *containers)
{
	cJSON *c;

	json_each(c, containers) {
		cJSON *env = json_list(c, "env"), *v;

		if (json_find(env, "name", "JOB_COMPLETION_INDEX"))
			continue;
		v = cJSON_CreateObject();
		json_put_str(v, "JOB_COMPLETION_INDEX", "name");
		json_put_str(
			v, "metadata.labels['batch.kubernetes.io/job-completion-index']",
			"valueFrom", "fieldRef", "fieldPath");
		cJSON_AddItemToArray(env, v);
	}
}

static void put_index(cJSON *pod, const struct jobs_job *job, int index, int64_t failures)
{
	cJSON *meta = json_obj(pod, "metadata"), *spec = json_obj(pod, "spec");
	cleanup_free char *hostname = jobs_printf("%s-%d", job->name, index);

	put_int_text(json_obj(meta, "labels"), BATCH "job-completion-index", index);
	put_int_text(json_obj(meta, "annotations"), BATCH "job-completion-index", index);
	if (job->rjob->backoff_per_index >= 0)
		put_int_text(json_obj(meta, "annotations"),
			     BATCH "job-index-failure-count", (int)failures);
	json_put_str(spec, hostname, "hostname");
	put_env(json_get(spec, "initContainers"));
	put_env(json_get(spec, "containers"));
}

static void put_owner(cJSON *meta, const struct jobs_job *job)
{
	cJSON *owner = cJSON_CreateObject();

	json_put_str(owner, "batch/v1", "apiVersion");
	json_put_str(owner, "Job", "kind");
	json_put_str(owner, job->name, "name");
	json_put_str(owner, job->uid, "uid");
	json_put_bool(owner, true, "controller");
	json_put_bool(owner, true, "blockOwnerDeletion");
	cJSON_AddItemToArray(json_list(meta, "ownerReferences"), owner);
}

/* The pod that the two controllers and the API server would have made. */
cJSON *pod_new(const struct jobs *j, const struct jobs_job *job, int index,
	       const char *name, int64_t failures)
{
	const cJSON *tmpl = json_get(job->rjob->doc, "template", "spec", "template");
	cleanup_free char *uid = jobs_uid(j->uid, name);
	cJSON *pod = cJSON_CreateObject(), *meta, *labels, *spec;

	json_put_str(pod, "v1", "apiVersion");
	json_put_str(pod, "Pod", "kind");
	meta = json_obj(pod, "metadata");
	json_put_str(meta, name, "name");
	json_put_str(meta, j->ns, "namespace");
	json_put_str(meta, uid, "uid");
	if (json_get(tmpl, "metadata", "labels"))
		json_put(meta, json_dup(json_get(tmpl, "metadata", "labels")), "labels");
	if (json_get(tmpl, "metadata", "annotations"))
		json_put(meta, json_dup(json_get(tmpl, "metadata", "annotations")),
			 "annotations");
	labels = json_obj(meta, "labels");
	jobs_put_jobset_keys(j, job, labels);
	jobs_put_jobset_keys(j, job, json_obj(meta, "annotations"));
	json_put_str(labels, job->uid, BATCH "controller-uid");
	json_put_str(labels, job->name, BATCH "job-name");
	json_put_str(labels, job->uid, "controller-uid");
	json_put_str(labels, job->name, "job-name");
	put_owner(meta, job);
	spec = json_put(pod, json_dup(json_get(tmpl, "spec")), "spec");
	json_obj(spec, "securityContext"); /* kubectl debug reads it unasked */
	if (has_dns(j))
		json_put_str(spec, j->subdomain, "subdomain");
	if (index >= 0)
		put_index(pod, job, index, failures);
	return pod;
}
