/* machine_impl.h - shared by machine.c and mirror.c. */
#ifndef MACHINE_MACHINE_IMPL_H
#define MACHINE_MACHINE_IMPL_H

#include <pthread.h>

#include "apiserver/apiserver.h"
#include "base/map.h"
#include "machine/published.h"

/* A job, and the state of its objects in the API. */
struct job {
	struct published_run run; /* the run that the API shows */
	char *fingerprint; /* of its directory, once the job has ended; NULL: not ended */
	char *trainjob_fingerprint; /* of its TrainJob's file when it was read */
	bool has_objects;   /* its JobSet, Jobs, pods and events are stored, too */
	size_t events;      /* bytes of STATE_EVENTS that have been read */
	unsigned last_scan; /* machine.scan, in which it was found */
	cJSON *runtime;     /* stored for it, if it came from a file; or NULL */
	int64_t expires;    /* status_expires() of a run that has ended; -1: never */
	bool hidden;        /* belongs to a server: not mirrored */
};

struct machine {
	struct apiserver *api;
	pthread_mutex_t lock; /* guards the members below */
	struct map jobs;      /* "NS/NAME" -> struct job */
	unsigned scan;        /* the number of times that the directories were listed */
	int inotify;          /* -1: nothing is watched */
	bool mirrors;         /* the API is a server's and has other objects, too */
	bool unwritten; /* an object of the job that is read could not be stored now */
};

/* `api` remains the caller's; inotify may be -1. */
void machine_init(struct machine *m, struct apiserver *api, int inotify, bool mirrors);
void machine_release(struct machine *m);
/* Read all jobs with their JobSets, Jobs, pods and events. */
MUST_CHECK int machine_read_all(struct machine *m, struct error *err);
/* ERR_UNSUPPORTED unless the write changes only spec.suspend of a TrainJob. */
MUST_CHECK int machine_check_write(const cJSON *old, const cJSON *obj, struct error *err);
/* End the run of a TrainJob and delete it with its logs. */
MUST_CHECK int machine_delete(const char *ns, const char *name, struct error *err);

#endif
