/* settings.c - read the job's port and private key (mpi/settings.h). */
#include "mpi/settings.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_PORT = 65535 };

int mpi_port(int *ret, int64_t given, mpi_env *env, void *ctx, struct error *err)
{
	const char *text = given ? NULL : env(ctx, "KFTRAINER_MPI_PORT");
	int64_t port = given ? given : MPI_PORT;

	if (text && str_int(&port, text, 1, MAX_PORT, err))
		return error_wrap(err, "KFTRAINER_MPI_PORT");
	*ret = (int)port;
	return 0;
}

const char *mpi_key_path(struct arena *arena, const char *given, mpi_env *env, void *ctx)
{
	const char *path = given ? given : env(ctx, "KFTRAINER_MPI_KEY");
	const char *home = path ? NULL : env(ctx, "HOME");

	return path ? path : path_join(arena, home ? home : "/root", ".ssh/id_rsa");
}

int mpi_key_pem(struct buf *out, const char *given, mpi_env *env, void *ctx,
		struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *path = mpi_key_path(&arena, given, env, ctx);

	if (file_read(out, path, err))
		return error_wrap(err, "the job's private key");
	return out->len ? 0
			: error_set(err, ERR_FORMAT,
				    "the job's private key: %s: not a private key in PEM",
				    path);
}

int mpi_key(unsigned char ret[PSK_KEY_SIZE], const char *given, mpi_env *env, void *ctx,
	    struct error *err)
{
	cleanup_buf struct buf pem = { .max = MPI_KEY_MAX };
	int rc = mpi_key_pem(&pem, given, env, ctx, err);

	if (!rc)
		rc = psk_key(ret, (const char *)pem.data, MPI_KEY_INFO, err);
	if (pem.data)
		explicit_bzero(pem.data, pem.len);
	return rc;
}
