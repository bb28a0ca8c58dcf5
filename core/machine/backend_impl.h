/* backend_impl.h - shared by the parts of backend.h. For backend*.c only. */
#ifndef MACHINE_BACKEND_IMPL_H
#define MACHINE_BACKEND_IMPL_H

#include <pthread.h>

#include "base/map.h"
#include "local/state_owned.h"
#include "machine/backend.h"
#include "machine/published.h"

/* A JobSet that has a run, or needs one. */
struct backend_run {
	struct published_run run; /* the copy; watches: its files, the lock of the job */
	char *ending_dir;         /* the run that was asked to end; or NULL */
	int64_t due_ms;           /* sync again at that time; 0: at the next change */
};

struct backend {
	struct backend_conf conf;
	char *server;
	struct map runs; /* "NS/NAME" -> struct backend_run */
	bool unwritten;  /* a write of the JobSet that is synced failed: try again */
	int inotify;
	pthread_t threads[2];
	int n_threads;

	pthread_mutex_t lock;
	struct map changed; /* "NS/NAME" of JobSets to sync; guarded by lock */
	bool stopping;      /* likewise */
	int wake;           /* an eventfd */
};

#define JOBSET_PATH "/apis/jobset.x-k8s.io/v1alpha2/namespaces/%s/jobsets/%s/status"

/*
 * backend_copy.c: copy the run's files into the API. `over`: only if they contain a
 * terminal state (the API's JobSet has ended or is suspended). Returns whether they do.
 */
bool backend_copy(struct backend *b, struct backend_run *r, const struct state_owned *run,
		  bool over);
/* Remove the objects of a JobSet (uid) from the API; kind NULL: pods and Jobs. */
void backend_clear(struct backend *b, const char *ns, const char *uid, const char *kind);
/* Fail the JobSet and its running pods for a reason that no controller reports. */
void backend_fail(struct backend *b, const char *ns, const char *name, const char *reason,
		  const char *message);
/* Write the status of a suspended JobSet and of its Jobs. */
void backend_write_suspended(struct backend *b, const cJSON *jobset);

/* backend_archives.c: delete the archives of workspaces that no TrainJob has. */
void backend_sweep_archives(struct backend *b);

/*
 * backend_start.c: start the run process. 0: the run has begun; RUN_BUSY; -1: err has the
 * cause.
 */
int backend_launch(struct backend *b, const cJSON *jobset, struct error *err);

#endif
