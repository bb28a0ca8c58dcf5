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
	put_annotation(tj, WORKSPACE_STORE_ANNOTATION, NULL);
}

void workspace_announce_store(cJSON *tj, const char *key, const char *dir)
{
	cleanup_arena struct arena arena = { 0 };

	if (meta_annotation(tj, WORKSPACE_ANNOTATION))
		meta_set_annotation(tj, WORKSPACE_STORE_ANNOTATION,
				    arena_printf(&arena, "%s %s", key, dir));
}

const char *workspace_store(struct arena *arena, const cJSON *tj, const char **ret_key)
{
	const char *text = meta_annotation(tj, WORKSPACE_STORE_ANNOTATION);
	const char *dir = text ? strchr(text, ' ') : NULL;

	if (!dir || dir == text || dir[1] != '/')
		return NULL;
	*ret_key = str_slice(arena, text, (size_t)(dir - text));
	return dir + 1;
}

const char *workspace_store_place(struct arena *arena, const char *dir,
				  const char *digest)
{
	return arena_printf(arena, "%s/" WORKSPACE_STORE "/%s", dir, digest);
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

	if (data)
		base64_encode(&text, data, len);
	else
		meta_set_annotation(map, WORKSPACE_STORED_ANNOTATION, "true");
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
	const cJSON *objects;
};

static void use_program(cJSON *pod_spec, const char *program)
{
	cJSON *c = pod_init_container(pod_spec, WORKSPACE_CONTAINER);
	cleanup_json cJSON *command = cJSON_CreateStringArray(&program, 1);
	cleanup_json cJSON *args = json_dup(container_args(c));

	cJSON_AddItemToArray(args, cJSON_CreateString("--quiet"));
	container_set_command(c, command);
	container_set_args(c, args);
	container_soften(c);
}

static void bind_pod(cJSON *pod_spec, const void *how)
{
	const struct local *l = how;
	cJSON *volume = podspec_volume(WORKSPACE_ARCHIVE);

	use_program(pod_spec, l->program);
	json_put_str(volume, l->dir, "hostPath", "path");
	json_put_str(volume, "Directory", "hostPath", "type");
	pod_set_volume(pod_spec, volume);
}

void workspace_bind_local(cJSON *objects, const char *program, const char *dir)
{
	each_pod(objects, bind_pod, &(const struct local){ program, dir, NULL });
}

/* The place of the archive that the ConfigMap of this name stands for; or NULL. */
static const char *place_of(struct arena *arena, const struct local *l, const char *name)
{
	const cJSON *o;

	json_each(o, l->objects) {
		const char *text = meta_annotation(o, WORKSPACE_ANNOTATION), *digest;

		if (str_eq(meta_kind(o), "ConfigMap") && str_eq(meta_name(o), name) &&
		    meta_annotation(o, WORKSPACE_STORED_ANNOTATION) && text &&
		    !read_digest(&digest, text, IGNORED))
			return workspace_store_place(arena, l->dir, digest);
	}
	return NULL;
}

static void bind_stored(cJSON *pod_spec, const void *how)
{
	cleanup_arena struct arena arena = { 0 };
	const struct local *l = how;
	const cJSON *volume;
	const char *place = NULL;

	json_each(volume, json_get((const cJSON *)pod_spec, "volumes"))
		if (str_eq(podspec_element_name(volume), WORKSPACE_ARCHIVE))
			place = place_of(&arena, l,
					 json_str(volume, "configMap", "name"));
	if (place)
		bind_pod(pod_spec, &(const struct local){ l->program, place, NULL });
	else
		use_program(pod_spec, l->program);
}

void workspace_bind_stored(cJSON *objects, const char *program, const char *store)
{
	each_pod(objects, bind_stored, &(const struct local){ program, store, objects });
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
