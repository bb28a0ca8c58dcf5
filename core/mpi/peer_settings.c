/* peer_settings.c - read how to reach nodes (mpi/peer_settings.h). */
#include "mpi/peer_settings.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

/* A launcher's ConnectionAttempts x ConnectTimeout. */
static int read_timeout(int64_t *ret, const struct ssh_args *args, const char *text,
			struct error *err)
{
	int64_t attempts = args->connection_attempts ? args->connection_attempts : 1;

	*ret = PEER_TIMEOUT_MS;
	if (args->timeout_ms)
		*ret = args->timeout_ms;
	else if (text)
		return duration_parse(ret, text, err)
			       ? error_wrap(err, "KFTRAINER_MPI_TIMEOUT")
			       : 0;
	else if (args->connect_timeout_s)
		*ret = clock_seconds_ms(args->connect_timeout_s) * attempts;
	return 0;
}

static int read_host_key(bool *ret_any, const struct ssh_args *args, const char *text,
			 struct error *err)
{
	if (text && !str_eq(text, "any") && !str_eq(text, "job"))
		return error_set(
			err, ERR_USAGE,
			"KFTRAINER_MPI_HOST_KEY: invalid value '%s': want job or any",
			text);
	*ret_any = args->any_host_key || str_eq(text, "any");
	return 0;
}

/* A random user id has no passwd entry: its sshd runs as the same id, or as root. */
static const char *own_name(void)
{
	const struct passwd *user = getpwuid(geteuid());

	return user ? user->pw_name : "root";
}

int peer_settings_read(struct peer_settings *ret, const struct ssh_args *args,
		       mpi_env *env, void *ctx, struct error *err)
{
	struct peer_conf *conf = &ret->conf;
	cleanup_arena struct arena arena = { 0 };
	const char *path = mpi_key_path(&arena, args->key_file, env, ctx);
	struct stat st;
	int64_t ms;

	*ret = (struct peer_settings){ .conf.host = args->host, .key.max = MPI_KEY_MAX };
	if (mpi_port(&conf->port, args->port, env, ctx, err) ||
	    read_timeout(&ms, args, env(ctx, "KFTRAINER_MPI_TIMEOUT"), err) ||
	    read_host_key(&conf->any_host_key, args, env(ctx, "KFTRAINER_MPI_HOST_KEY"),
			  err) ||
	    mpi_key_pem(&ret->key, args->key_file, env, ctx, err))
		return -1;
	ret->shared_key = !stat(path, &st) && st.st_mode & 077;
	snprintf(ret->user, sizeof(ret->user), "%s",
		 args->user ? args->user : own_name());
	conf->user = ret->user;
	conf->key_pem = (const char *)ret->key.data;
	conf->deadline = clock_ms() + ms;
	return 0;
}

void peer_settings_release(struct peer_settings *s)
{
	if (s->key.data)
		explicit_bzero(s->key.data, s->key.len);
	buf_release(&s->key);
}

const char *peer_settings_hint(const struct peer_settings *s, enum peer_stage stage,
			       const struct error *err)
{
	bool refused = stage == PEER_PORT && err->code == ECONNREFUSED;
	bool other_key = stage == PEER_KEY && err->kind == ERR_UNTRUSTED;

	if (!s->shared_key || !(refused || other_key))
		return NULL;
	return "others can read the key file: an sshd that runs as root does not use "
	       "such a host key; set the mode of the mount to 0400, or use mpi-worker";
}
