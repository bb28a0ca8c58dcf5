/* workspace_mount.c - give pods their workspace (kubelet/workspace_mount.h). */
#include "kubelet/workspace_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/sandbox.h"
#include "pack/pack.h"
#include "trainer/workspace_spec.h"

/* Can pods of this machine mount a folder at another path? */
static bool can_mount(struct arena *arena, const char *folder)
{
	const char *stage = path_join(arena, folder, "stage");
	pid_t trial;
	bool ret;

	if (str_eq(getenv("KFTRAINER_ISOLATION"), "none") || mkdir(stage, 0700))
		return false;
	ret = sandbox_probe(stage, &trial) & SANDBOX_MOUNT;
	sandbox_wait(trial);
	rmdir(stage);
	return ret;
}

static int share(struct arena *arena, cJSON *objects, const char *folder,
		 const char *digest, struct error *err)
{
	const char *archive = path_join(arena, folder, WORKSPACE_FILE);
	const struct unpack_opts how = { .to = path_join(arena, folder, "files"),
					 .digest = digest,
					 .limits = PACK_LIMITS };
	cleanup_fd int fd = open(archive, O_RDONLY | O_CLOEXEC);
	struct pack_summary summary;
	bool before;

	if (fd < 0)
		return error_errno(err, errno, "%s", archive);
	if (unpack_folder(fd, &how, &summary, &before, err))
		return -1;
	workspace_bind_shared(objects, how.to);
	return 0;
}

int workspace_mount(cJSON *objects, const char *folder, const char *digest,
		    bool *ret_shared, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *program = NULL;

	*ret_shared = !can_mount(&arena, folder);
	if (*ret_shared)
		return share(&arena, objects, folder, digest, err);
	program = path_of_program(err);
	if (!program)
		return -1;
	workspace_bind_local(objects, program, folder);
	return 0;
}

int workspace_mount_stored(cJSON *objects, const char *server, struct error *err)
{
	cleanup_free char *program = path_of_program(err);

	if (!program)
		return -1;
	workspace_bind_stored(objects, program, server);
	return 0;
}
