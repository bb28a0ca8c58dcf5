/*
 * machine_impl.h - what machine.c and mirror.c share.
 */
#ifndef LOCAL_MACHINE_IMPL_H
#define LOCAL_MACHINE_IMPL_H

#include <pthread.h>

#include "apiserver/apiserver.h"
#include "base/map.h"

/* A job, as the API has it. */
struct job {
	char *ns, *name;
	char *mark;       /* of its directory when it had ended; NULL: it has not */
	char *run;        /* the directory of the run that is stored */
	char *known;      /* the mark of its TrainJob */
	bool whole;       /* what it consists of is stored, too */
	struct map files; /* of that: name in STATE_API -> its mark */
	size_t events;    /* bytes of STATE_EVENTS that have been read */
	unsigned seen;    /* in which round */
	cJSON *runtime;   /* the one of a file that is stored for it, or NULL */
	bool hidden;      /* of a server: it is not mirrored */
	int watches[2];   /* inotify's, of its run while that goes on; -1: none */
};

struct machine {
	struct apiserver *api;
	pthread_mutex_t lock; /* of what follows */
	struct map jobs;      /* "NS/NAME" -> struct job */
	unsigned round;
	int inotify;  /* -1: nothing is watched */
	bool mirrors; /* into a server's API, which has objects of others */
};

/* `api` is the caller's, -1 in place of an inotify descriptor is fine. */
void machine_init(struct machine *m, struct apiserver *api, int inotify, bool mirrors);
void machine_release(struct machine *m);
/* All of them, with what they consist of. */
MUST_CHECK int machine_read_all(struct machine *m, struct error *err);
/* Of what runs are, a TrainJob's spec.suspend alone can be changed: else ERR_UNSUPPORTED. */
MUST_CHECK int machine_check_write(const cJSON *old, const cJSON *obj, struct error *err);
/* End the run of a TrainJob, and delete it with its logs. */
MUST_CHECK int machine_delete(const char *ns, const char *name, struct error *err);

#endif
