/* backend_start.c - start the run process of a JobSet (machine/backend_impl.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/str.h"
#include "local/inputs.h"
#include "machine/backend_impl.h"
#include "trainer/api.h"

#define PROGRAM "/proc/self/exe"

extern char **environ;

/* ---- its input ------------------------------------------------------------------- */

/* The TrainJob that owns the JobSet; for a bare JobSet, a made-up one. */
static cJSON *trainjob_of(struct backend *b, const cJSON *jobset)
{
	const cJSON *owner = meta_controller(jobset);
	const char *ns = meta_namespace(jobset), *name = meta_name(jobset);
	cJSON *ret = NULL;

	if (owner && str_eq(json_str(owner, "kind"), TRAINJOB_KIND))
		ret = apiserver_get(b->conf.api, TRAINER_API_VERSION, TRAINJOB_KIND, ns,
				    meta_owner_name(owner));
	if (!ret) {
		ret = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, ns, name);
		meta_set_uid(ret, meta_uid(jobset));
	}
	json_put_bool(ret, false, "spec", "suspend");
	return ret;
}

static cJSON *input_of(struct backend *b, const cJSON *jobset)
{
	cJSON *doc = cJSON_CreateObject();
	cJSON *trainjob = trainjob_of(b, jobset);

	json_put(doc, inputs_of(b->conf.api, jobset, trainjob), RUN_OBJECTS);
	json_put_str(doc, b->server, RUN_SERVER);
	json_put_str(doc, meta_uid(jobset), RUN_UID);
	json_put_int(doc, meta_generation(jobset), RUN_GENERATION);
	if (b->conf.pod_key)
		json_put_str(doc, b->conf.pod_key, RUN_POD_KEY);
	json_put(doc, trainjob, RUN_TRAINJOB);
	return doc;
}

/* A memfd: the input contains Secrets, which must not reach the disk. */
static int open_input(int *ret, const cJSON *doc, struct error *err)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	cleanup_fd int fd = memfd_create("run", MFD_CLOEXEC);

	json_print(&text, doc);
	if (buf_check(&text, "the job", err))
		return -1;
	if (fd < 0)
		return error_errno(err, errno, "cannot make a file in memory");
	if (file_write_fd(fd, text.data, text.len, "memory", err))
		return -1;
	if (lseek(fd, 0, SEEK_SET))
		return error_errno(err, errno, "cannot rewind a file in memory");
	*ret = fd;
	fd = -1;
	return 0;
}

/* ---- the process --------------------------------------------------------------------- */

static int spawn(pid_t *ret, int in, int out)
{
	char *argv[] = { (char[]){ "kftrainer" }, (char[]){ "run-jobset" }, NULL };
	const struct spawn run = {
		.path = PROGRAM, .argv = argv, .envp = environ, .fds = { in, out, out }
	};

	return spawn_program(ret, &run);
}

/* Wait until the run has begun or failed to. */
static int wait_for(pid_t pid, int out, struct error *err)
{
	cleanup_buf struct buf text = { .max = 4096 };
	cleanup_arena struct arena a = { 0 };
	struct error unread = { 0 };
	const char *output;
	int status = 0;

	if (file_read_fd(&text, out, "run-jobset", &unread))
		buf_adds(&text, unread.msg);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	output = str_trim(&a, text.data ? (const char *)text.data : "");
	error_set(err, ERR_UNSUPPORTED, "%s",
		  *output ? output : "the run process exited before the job started");
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int backend_launch(struct backend *b, const cJSON *jobset, struct error *err)
{
	cleanup_json cJSON *doc = input_of(b, jobset);
	cleanup_fd int in = -1, out = -1;
	int pipes[2], rc;
	pid_t pid;

	if (open_input(&in, doc, err))
		return EXIT_FAILURE;
	if (pipe2(pipes, O_CLOEXEC)) {
		error_errno(err, errno, "cannot make a pipe");
		return EXIT_FAILURE;
	}
	out = pipes[0];
	rc = spawn(&pid, in, pipes[1]);
	close(pipes[1]);
	if (rc) {
		error_errno(err, rc, "cannot start a process");
		return EXIT_FAILURE;
	}
	return wait_for(pid, out, err);
}
