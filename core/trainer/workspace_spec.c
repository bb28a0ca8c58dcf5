/* workspace_spec.c - build the objects of a workspace (trainer/workspace_spec.h). */
#include "trainer/workspace_spec.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"

#define DIGEST_PREFIX "sha256:"

enum { DIGEST_LENGTH = 64, NAME_DIGITS = 12, MAX_URI = 2048 };

static int read_digest(const char **ret, const char *text, struct error *err)
{
	const char *hex = str_after(text, DIGEST_PREFIX);

	if (!hex || strlen(hex) != DIGEST_LENGTH ||
	    strspn(hex, "0123456789abcdef") != DIGEST_LENGTH)
		return error_set(err, ERR_INVALID,
				 WORKSPACE_ANNOTATION
				 ": '%.100s' is not " DIGEST_PREFIX
				 " and 64 lower-case hexadecimal digits",
				 text);
	*ret = hex;
	return 0;
}

static int check_uri(const char *uri, struct error *err)
{
	if (!uri)
		return 0;
	if (strlen(uri) > MAX_URI)
		return error_set(err, ERR_INVALID,
				 WORKSPACE_FROM_ANNOTATION ": more than %d bytes",
				 MAX_URI);
	if (str_starts(uri, "s3://") || str_starts(uri, "hf://"))
		return 0;
	return error_set(err, ERR_INVALID,
			 WORKSPACE_FROM_ANNOTATION
			 ": '%.100s' begins neither with s3:// nor with hf://",
			 uri);
}

int workspace_of(struct workspace *ret, const cJSON *tj, struct error *err)
{
	const char *text = meta_annotation(tj, WORKSPACE_ANNOTATION);
	struct workspace w = {
		.uri = meta_annotation(tj, WORKSPACE_FROM_ANNOTATION),
		.secret = meta_annotation(tj, WORKSPACE_SECRET_ANNOTATION),
	};

	*ret = (struct workspace){ 0 };
	if (!text)
		return 0;
	if (read_digest(&w.digest, text, err) || check_uri(w.uri, err))
		return -1;
	*ret = w;
	return 0;
}

void workspace_served(cJSON *tj)
{
	if (meta_annotation(tj, WORKSPACE_ANNOTATION))
		meta_set_annotation(tj, WORKSPACE_SERVED_ANNOTATION, "kftrainer");
}

bool workspace_is_served(const cJSON *tj)
{
	return meta_annotation(tj, WORKSPACE_SERVED_ANNOTATION) != NULL;
}

static void put_annotation(cJSON *tj, const char *key, const char *value)
{
	if (value)
		meta_set_annotation(tj, key, value);
	else
		json_del(tj, JSON_PATH("metadata", "annotations", key));
}

void workspace_annotate(cJSON *tj, const struct workspace *w)
{
	cleanup_arena struct arena arena = { 0 };

	put_annotation(tj, WORKSPACE_ANNOTATION,
		       w->digest ? arena_printf(&arena, DIGEST_PREFIX "%s", w->digest)
				 : NULL);
	put_annotation(tj, WORKSPACE_FROM_ANNOTATION, w->uri);
	put_annotation(tj, WORKSPACE_SECRET_ANNOTATION, w->secret);
	put_annotation(tj, WORKSPACE_SERVED_ANNOTATION, NULL);
	put_annotation(tj, WORKSPACE_AWAITED_ANNOTATION, NULL);
}

const char *workspace_configmap_name(struct arena *arena, const char *tj,
				     const char *digest)
{
	return arena_printf(arena, "%s-workspace-%.*s", tj, NAME_DIGITS, digest);
}

cJSON *workspace_configmap(const cJSON *tj, const char *digest, const void *data,
			   size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 2 * len + 8 };
	cJSON *map = meta_new("v1", "ConfigMap", meta_namespace(tj),
			      workspace_configmap_name(&arena, meta_name(tj), digest));

	base64_encode(&text, data, len);
	meta_set_annotation(map, WORKSPACE_ANNOTATION,
			    arena_printf(&arena, DIGEST_PREFIX "%s", digest));
	meta_set_owner(map, tj);
	meta_unblock_owner(map);
	json_put_bool(map, true, "immutable");
	json_put_str(map, text.data ? (const char *)text.data : "", "binaryData",
		     WORKSPACE_FILE);
	return map;
}

cJSON *workspace_unpack_args(const struct workspace *w)
{
	const char *from = w->uri ? w->uri : WORKSPACE_ARCHIVE_PATH "/" WORKSPACE_FILE;
	const char *const words[] = {
		"runtime",    "unpack-workspace",
		"--from",     from,
		"--sha256",   w->digest,
		"--to",       WORKSPACE_PATH,
		"--download", WORKSPACE_ARCHIVE_PATH,
	};

	return cJSON_CreateStringArray(words, w->uri ? 10 : 8);
}

/* ---- on this machine ---- */

/* Call a function for each pod with a workspace. */
static void each_pod(cJSON *objects, void (*bind)(cJSON *pod_spec, const void *how),
		     const void *how)
{
	cJSON *obj, *rjob;

	json_each(obj, objects) {
		if (!str_eq(meta_kind(obj), JOBSET_KIND))
			continue;
		json_each(rjob, jobset_jobs(json_get(obj, "spec")))
			if (pod_init_container(rjob_pod_spec(rjob), WORKSPACE_CONTAINER))
				bind(rjob_pod_spec(rjob), how);
	}
}

struct local {
	const char *program, *dir;
};

static void bind_pod(cJSON *pod_spec, const void *how)
{
	const struct local *l = how;
	cJSON *c = pod_init_container(pod_spec, WORKSPACE_CONTAINER);
	cJSON *volume = podspec_volume(WORKSPACE_ARCHIVE);
	cleanup_json cJSON *command = cJSON_CreateStringArray(&l->program, 1);
	cleanup_json cJSON *args = json_dup(container_args(c));

	cJSON_AddItemToArray(args, cJSON_CreateString("--quiet"));
	container_set_command(c, command);
	container_set_args(c, args);
	container_soften(c);
	json_put_str(volume, l->dir, "hostPath", "path");
	json_put_str(volume, "Directory", "hostPath", "type");
	pod_set_volume(pod_spec, volume);
}

void workspace_bind_local(cJSON *objects, const char *program, const char *dir)
{
	each_pod(objects, bind_pod, &(const struct local){ program, dir });
}

static void share_pod(cJSON *pod_spec, const void *how)
{
	cJSON *c;

	pod_drop_init_container(pod_spec, WORKSPACE_CONTAINER);
	pod_drop_volume(pod_spec, WORKSPACE_ARCHIVE);
	pod_drop_volume(pod_spec, WORKSPACE_VOLUME);
	json_each(c, pod_containers(pod_spec)) {
		container_drop_mount(c, WORKSPACE_VOLUME);
		container_move_workdir(c, WORKSPACE_PATH, how);
	}
}

void workspace_bind_shared(cJSON *objects, const char *dir)
{
	each_pod(objects, share_pod, dir);
}
