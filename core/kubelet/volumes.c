/* volumes.c - make the volumes of a pod (kubelet/volumes.h). */
#include "kubelet/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "apiserver/pod_token.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "trainer/api.h"

enum { MAX_FILE = 8 << 20 };

struct making {
	struct arena *arena;
	const struct volumes *v;
	const char *name; /* the volume's directory */
	const char *dir;  /* the directory of its files */
	int64_t mode;     /* its defaultMode, -1: none */
};

/* Is the path relative, without ".." and empty names? */
static bool stays_below(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.')
			return false;
		p += len + (p[len] == '/');
	}
	return true;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int put_file(const struct making *m, const char *path, const struct buf *data,
		    int64_t mode, struct error *err)
{
	const char *full = arena_printf(m->arena, "%s/%s", m->dir, path);

	if (!stays_below(path))
		return error_set(err, ERR_INVALID,
				 "volume %s: path \"%s\" must be relative, without ..",
				 m->name, path);
	if (buf_check(data, path, err) < 0 ||
	    (strchr(path, '/') && dir_make(path_dir(m->arena, full), 0755, err) < 0))
		return error_wrap(err, "volume %s", m->name);
	cleanup_fd int fd =
		open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "volume %s: %s", m->name, path);
	if (file_write_fd(fd, data->data ? data->data : (const void *)"", data->len, path,
			  err) < 0)
		return error_wrap(err, "volume %s", m->name);
	if (fchmod(fd, (mode_t)mode & 0777) < 0)
		return error_errno(err, errno, "volume %s: %s", m->name, path);
	return 0;
}

static int64_t file_mode(const struct making *m, const cJSON *item, bool secret)
{
	int64_t mode = json_int(item, -1, "mode");

	if (mode < 0)
		mode = m->mode;
	return mode >= 0 ? mode : secret ? 0600 : 0644;
}

/* ---- ConfigMap, Secret ----------------------------------------------------------- */

static int put_items(const struct making *m, const cJSON *object, const cJSON *ref,
		     bool secret, struct error *err)
{
	const cJSON *item;

	json_each(item, json_get(ref, "items")) {
		const char *key = json_str(item, "key"), *path = json_str(item, "path");
		cleanup_buf struct buf b = { .max = MAX_FILE };

		if (!key || !path)
			return error_set(err, ERR_INVALID,
					 "volume %s: an item requires key and path",
					 m->name);
		if (!podenv_data(object, key, &b)) {
			if (json_bool(ref, false, "optional"))
				continue;
			return error_set(err, ERR_NOT_FOUND,
					 "volume %s: %s %s has no key %s", m->name,
					 meta_kind(object), meta_name(object), key);
		}
		if (put_file(m, path, &b, file_mode(m, item, secret), err) < 0)
			return -1;
	}
	return 0;
}

static int put_object(const struct making *m, const cJSON *ref, const char *kind,
		      struct error *err)
{
	bool secret = str_eq(kind, "Secret");
	const char *name = json_str(
		ref, secret && json_str(ref, "secretName") ? "secretName" : "name");
	const cJSON *o =
		podenv_object(m->v->host, m->v->pod->pod, kind, name ? name : "");
	static const char *const maps[] = { "data", "binaryData", "stringData" };
	const cJSON *entry;

	if (!o && json_bool(ref, false, "optional"))
		return 0;
	if (!o)
		return error_set(err, ERR_NOT_FOUND,
				 "volume %s: %s %s not found: add it to the job's file "
				 "or mark it optional",
				 m->name, kind, name ? name : "\"\"");
	if (json_get(ref, "items"))
		return put_items(m, o, ref, secret, err);
	for (size_t i = 0; i < 3; i++) {
		json_each(entry, json_at(o, JSON_PATH(maps[i]))) {
			cleanup_buf struct buf b = { .max = MAX_FILE };

			if (!podenv_data(o, entry->string, &b))
				return error_set(err, ERR_FORMAT,
						 "volume %s: %s %s: %s is not base64",
						 m->name, kind, name, entry->string);
			if (strchr(entry->string, '/'))
				return error_set(
					err, ERR_INVALID,
					"volume %s: %s %s: key \"%s\" is not a file name",
					m->name, kind, name, entry->string);
			if (put_file(m, entry->string, &b, file_mode(m, NULL, secret),
				     err) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- downwardAPI ----------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

/* Lines key="value", sorted, as k8s.io/kubernetes/pkg/fieldpath FormatMap. */
static void print_map(struct buf *out, struct arena *arena, const cJSON *map)
{
	size_t n = map ? (size_t)cJSON_GetArraySize(map) : 0, i = 0;
	const cJSON **sorted = arena_alloc(arena, (n + 1) * sizeof(const cJSON *));
	const cJSON *e;

	json_each(e, map)
		sorted[i++] = e;
	if (n > 1)
		qsort(sorted, n, sizeof(const cJSON *), by_key);
	for (i = 0; i < n; i++) {
		buf_printf(out, "%s%s=", i ? "\n" : "", sorted[i]->string);
		json_print(out, sorted[i]);
	}
}

static int put_downward(const struct making *m, const cJSON *list, struct error *err)
{
	const cJSON *item;

	json_each(item, list) {
		cleanup_buf struct buf b = { .max = MAX_FILE };
		const char *path = json_str(item, "path"), *text = "";
		const char *field = json_str(item, "fieldRef", "fieldPath");
		const cJSON *resource = json_get(item, "resourceFieldRef");
		const char *name = json_str(resource, "containerName");
		const cJSON *pod = m->v->pod->pod;

		if (str_eq(field, "metadata.labels") ||
		    str_eq(field, "metadata.annotations")) {
			print_map(&b, m->arena,
				  json_get(pod, "metadata", field + strlen("metadata.")));
		} else if (field) {
			if (podenv_field(m->arena, m->v->host, m->v->pod, field, &text,
					 err) < 0)
				return error_wrap(err, "volume %s", m->name);
		} else {
			const cJSON *c =
				json_find_const(json_get(pod, "spec", "containers"),
						"name", name ? name : "");
			if (!c)
				return error_set(
					err, ERR_INVALID,
					"volume %s: downwardAPI: container %s not found",
					m->name, name ? name : "\"\"");
			if (podenv_resource(m->arena, m->v->host, c, resource, &text,
					    err) < 0)
				return error_wrap(err, "volume %s", m->name);
		}
		buf_adds(&b, text);
		if (put_file(m, path ? path : "", &b, file_mode(m, item, false), err) < 0)
			return -1;
	}
	return 0;
}

/*
 * The token is valid as long as the pod exists, regardless of expirationSeconds: files
 * are written once.
 */
static int put_token(const struct making *m, const cJSON *source, struct error *err)
{
	const char *audience = json_str(source, "audience"),
		   *path = json_str(source, "path");
	cleanup_buf struct buf b = { .max = MAX_FILE };

	if (!m->v->pod_key)
		return 0;
	pod_token_make(&b, m->v->pod_key, m->v->pod->pod, audience ? audience : "");
	return put_file(m, path ? path : "", &b, m->mode >= 0 ? m->mode : 0600, err);
}

static int put_projected(const struct making *m, const cJSON *spec, struct error *err)
{
	const cJSON *source, *s;

	json_each(source, json_get(spec, "sources")) {
		int rc = 0;

		if ((s = json_get(source, "configMap")) != NULL)
			rc = put_object(m, s, "ConfigMap", err);
		else if ((s = json_get(source, "secret")) != NULL)
			rc = put_object(m, s, "Secret", err);
		else if ((s = json_get(source, "downwardAPI")) != NULL)
			rc = put_downward(m, json_get(s, "items"), err);
		else if ((s = json_get(source, "serviceAccountToken")) != NULL)
			rc = put_token(m, s, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- a volume -------------------------------------------------------------------- */

static int fill(const struct making *m, const cJSON *source, struct error *err)
{
	if (str_eq(source->string, "configMap"))
		return put_object(m, source, "ConfigMap", err);
	if (str_eq(source->string, "secret"))
		return put_object(m, source, "Secret", err);
	if (str_eq(source->string, "downwardAPI"))
		return put_downward(m, json_get(source, "items"), err);
	return put_projected(m, source, err);
}

/* Write to a temporary directory, then rename: a volume is complete or missing. */
static int make_files(struct arena *arena, const struct volumes *v, const char *name,
		      const cJSON *source, const char *to, struct error *err)
{
	struct making m = { .arena = arena, .v = v, .name = name };
	int rc;

	m.dir = arena_printf(arena, "%s.new", to);
	m.mode = json_int(source, -1, "defaultMode");
	if (dir_remove(m.dir, err) < 0 || dir_make(m.dir, 0755, err) < 0)
		return -1;
	rc = fill(&m, source, err);
	if (rc == 0 && rename(m.dir, to) < 0)
		rc = error_errno(err, errno, "%s", to);
	return rc;
}

struct host_type {
	const char *name, *wanted;
	mode_t type;
	bool make;
};

static const struct host_type host_types[] = {
	{ "DirectoryOrCreate", "a directory", S_IFDIR, true },
	{ "Directory", "a directory", S_IFDIR, false },
	{ "FileOrCreate", "a file", S_IFREG, true },
	{ "File", "a file", S_IFREG, false },
	{ "Socket", "a socket", S_IFSOCK, false },
	{ "CharDevice", "a character device", S_IFCHR, false },
	{ "BlockDevice", "a block device", S_IFBLK, false },
};

static int make_host_path(const char *path, const struct host_type *want,
			  struct error *err)
{
	int fd;

	if (want->type == S_IFDIR)
		return dir_make(path, 0755, err);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	return fd < 0 ? error_errno(err, errno, "%s", path) : close(fd);
}

static const struct host_type *host_type_named(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(host_types); i++)
		if (str_eq(name, host_types[i].name))
			return &host_types[i];
	return NULL;
}

static int host_path(const char *name, const cJSON *source, const char **ret,
		     struct error *err)
{
	const char *path = json_str(source, "path"), *type = json_str(source, "type");
	const struct host_type *want = host_type_named(type);
	struct stat st;

	if (!path || *path != '/')
		return error_set(err, ERR_INVALID,
				 "volume %s: hostPath.path: must be absolute", name);
	if (type && *type && !want)
		return error_set(err, ERR_INVALID,
				 "volume %s: hostPath.type: unknown type %s", name, type);
	*ret = path;
	if (stat(path, &st) < 0) {
		if (errno == ENOENT && want && want->make)
			return make_host_path(path, want, err);
		return error_errno(err, errno, "volume %s: hostPath %s", name, path);
	}
	if (want && (st.st_mode & S_IFMT) != want->type)
		return error_set(err, ERR_INVALID,
				 "volume %s: hostPath type check failed: %s is not %s",
				 name, path, want->wanted);
	return 0;
}

const cJSON *volume_source(const cJSON *volume)
{
	const cJSON *m;

	json_each(m, volume)
		if (!str_eq(m->string, "name") && !cJSON_IsNull(m))
			return m;
	return NULL;
}

static const char *const local_sources[] = { "emptyDir",
					     "configMap",
					     "secret",
					     "projected",
					     "downwardAPI",
					     "hostPath",
					     "persistentVolumeClaim",
					     "ephemeral",
					     NULL };

const char *volume_refusal(const cJSON *volume)
{
	const cJSON *source = volume_source(volume);

	if (!source || str_in(source->string, local_sources))
		return NULL; /* no source at all is an emptyDir */
	return "not supported on this machine: use hostPath, emptyDir, "
	       "configMap, secret, projected, downwardAPI or "
	       "persistentVolumeClaim";
}

/* The name of the ConfigMap or Secret if it is missing and not optional; or NULL. */
static const char *missing_object(const struct podenv_host *host, const cJSON *pod,
				  const cJSON *source)
{
	bool secret = source && str_eq(source->string, "secret");
	const char *name;

	if (!source || (!secret && !str_eq(source->string, "configMap")) ||
	    json_bool(source, false, "optional"))
		return NULL;
	name = json_str(source,
			secret && json_str(source, "secretName") ? "secretName" : "name");
	name = name ? name : "\"\"";
	return podenv_object(host, pod, secret ? "Secret" : "ConfigMap", name) ? NULL
									       : name;
}

const char *volume_missing(const struct podenv_host *host, const cJSON *pod,
			   const cJSON *volume)
{
	const cJSON *source = volume_source(volume), *s;
	const char *name = missing_object(host, pod, source);

	json_each(s, json_get(source, "sources"))
		if (!name)
			name = missing_object(host, pod, s->child);
	return name;
}

static bool holds_secret(const cJSON *source)
{
	const cJSON *s;

	json_each(s, json_get(source, "sources"))
		if (json_get(s, "secret") || json_get(s, "serviceAccountToken"))
			return true;
	return source && str_eq(source->string, "secret");
}

static const char *place(struct arena *arena, const struct volumes *v, const char *name,
			 const cJSON *source, bool *ret_files)
{
	const char *kind = source ? source->string : "emptyDir";
	bool in_memory =
		holds_secret(source) || str_eq(json_str(source, "medium"), "Memory");

	*ret_files = false;
	if (str_eq(kind, "persistentVolumeClaim")) {
		const char *claim = json_str(source, "claimName");

		return arena_printf(arena, "%s/%s", v->claims,
				    claim && stays_below(claim) && !strchr(claim, '/')
					    ? claim
					    : "claim");
	}
	if (str_eq(kind, "ephemeral"))
		return arena_printf(arena, "%s/%s-%s", v->run, meta_name(v->pod->pod),
				    name);
	*ret_files = !str_eq(kind, "emptyDir");
	return arena_printf(arena, "%s/%s", in_memory && v->memory ? v->memory : v->dir,
			    name);
}

static int make_volume(struct arena *arena, const struct volumes *v, const char *name,
		       const char **ret, struct error *err)
{
	const cJSON *volume =
		json_find_const(json_get(v->pod->pod, "spec", "volumes"), "name", name);
	const cJSON *source = volume ? volume_source(volume) : NULL;
	bool files;
	const char *to;

	if (!volume || strchr(name, '/') || !stays_below(name))
		return error_set(err, ERR_INVALID,
				 "volumeMounts: volume \"%s\" not found", name);
	if (volume_refusal(volume))
		return error_set(err, ERR_UNSUPPORTED, "volume %s: %s: %s", name,
				 source->string, volume_refusal(volume));
	if (source && str_eq(source->string, "hostPath"))
		return host_path(name, source, ret, err);
	to = *ret = place(arena, v, name, source, &files);
	if (is_folder(to))
		return 0;
	if (dir_make(path_dir(arena, to), 0700, err) < 0)
		return error_wrap(err, "volume %s", name);
	if (files)
		return make_files(arena, v, name, source, to, err);
	if (dir_make(to, 0755, err) < 0 || chmod(to, 0777) < 0)
		return error_errno(err, errno, "volume %s: %s", name, to);
	return 0;
}

/* ---- a container's mounts -------------------------------------------------------- */

/* "a//b/./c/" is "/a/b/c" */
static const char *clean_path(struct arena *arena, const char *path)
{
	cleanup_buf struct buf b = { .max = PATH_MAX };

	while (*path) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len && !(len == 1 && *path == '.')) {
			buf_adds(&b, "/");
			buf_add(&b, path, len);
		}
		path += len;
	}
	return b.data ? arena_strdup(arena, (const char *)b.data) : "/";
}

const char *mount_path_refusal(const char *path)
{
	static const char *const reserved[] = { "/proc", "/sys", "/dev", NULL };
	cleanup_arena struct arena arena = { 0 };

	if (!path || !*path)
		return "required";
	if (strchr(path, ':'))
		return "must not contain ':'";
	if (strlen(path) >= PATH_MAX)
		return "too long";
	if (path[strspn(path, "/")] && !stays_below(path + strspn(path, "/")))
		return "must not contain ..";
	path = clean_path(&arena, path);
	if (str_eq(path, "/"))
		return "cannot mount over the root directory";
	if (str_starts(path, "/proc/") || str_in(path, reserved))
		return "cannot mount over system directories";
	return NULL;
}

static const char *sub_path(struct arena *arena, const cJSON *mount,
			    const struct podenv *env)
{
	const char *sub = json_str(mount, "subPath"),
		   *expr = json_str(mount, "subPathExpr");
	cleanup_map struct map vars = { 0 };

	if (!expr || !*expr)
		return sub && *sub ? sub : NULL;
	for (size_t i = 0; env->envp[i]; i++) {
		const char *eq = strchr(env->envp[i], '=');

		if (eq)
			map_put(&vars,
				str_slice(arena, env->envp[i],
					  (size_t)(eq - env->envp[i])),
				(void *)(uintptr_t)(eq + 1));
	}
	return podenv_expand(arena, expr, &vars);
}

/* The file or directory `sub` of a volume; a missing one is created as a directory. */
static int enter_sub_path(struct arena *arena, const char *name, const char *sub,
			  const char **source, struct error *err)
{
	char real_volume[PATH_MAX], real[PATH_MAX];
	const char *full;

	if (!stays_below(sub))
		return error_set(err, ERR_INVALID,
				 "volume %s: subPath \"%s\" must be relative, without ..",
				 name, sub);
	full = arena_printf(arena, "%s/%s", *source, sub);
	if (!file_exists(full) && dir_make(full, 0777, err) < 0)
		return error_wrap(err, "volume %s: subPath", name);
	if (!realpath(*source, real_volume) || !realpath(full, real))
		return error_errno(err, errno, "volume %s: subPath %s", name, sub);
	if (!str_eq(real, real_volume) && !path_below(real, real_volume))
		return error_set(err, ERR_INVALID,
				 "volume %s: subPath %s leads outside the volume", name,
				 sub);
	*source = arena_strdup(arena, real);
	return 0;
}

static bool always_read_only(const struct volumes *v, const char *name)
{
	static const char *const files[] = { "configMap", "secret", "projected",
					     "downwardAPI", NULL };
	const cJSON *volume =
		json_find_const(json_get(v->pod->pod, "spec", "volumes"), "name", name);
	const cJSON *source = volume ? volume_source(volume) : NULL;

	return source &&
	       (str_in(source->string, files) || json_bool(source, false, "readOnly"));
}

int volumes_make(struct arena *arena, const struct volumes *v, const struct podenv *env,
		 struct mount_list *ret, struct error *err)
{
	const cJSON *list = json_get(v->pod->container, "volumeMounts"), *m;
	size_t n = (size_t)cJSON_GetArraySize(list) + VOLUMES_MORE;

	ret->mounts = arena_alloc(arena, n * sizeof(*ret->mounts));
	n = 0;
	json_each(m, list) {
		const char *name = json_str(m, "name"), *path = json_str(m, "mountPath");
		const char *why = mount_path_refusal(path),
			   *sub = sub_path(arena, m, env);
		struct volume_mount *to = &ret->mounts[n++];

		if (!name || why)
			return error_set(
				err, ERR_INVALID, "volumeMounts: mountPath \"%s\": %s",
				path ? path : "", name ? why : "name is required");
		if (make_volume(arena, v, name, &to->source, err) < 0)
			return -1;
		if (sub && enter_sub_path(arena, name, sub, &to->source, err) < 0)
			return -1;
		to->target = clean_path(arena, path);
		to->is_dir = is_folder(to->source);
		to->by_env = str_eq(name, STATUS_TOKEN_VOLUME);
		to->read_only =
			json_bool(m, false, "readOnly") || always_read_only(v, name);
	}
	ret->n = n;
	return 0;
}
