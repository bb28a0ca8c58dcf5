/*
 * jobs.h - world one: TrainJobs, this machine's API and one or two controllers in one
 * process. Shared by jobs_*.c.
 *
 * The program's own code runs: informers, work queues, workers, leader election, events,
 * reconciler, API server, garbage collector, rules of JobSet; its threads are
 * coroutines (threads.h). What stands in: the users, JobSet's controller and webhook, the kubelet,
 * and the network between controller and API, which delays and refuses calls, loses
 * answers and cuts watches. A controller dies between any two of its steps.
 *
 *     jobs_world.c         schedules
 *     jobs_controllers.c   processes of the controller, and their network
 *     jobs_nodes.c         JobSet's controller and the kubelet
 *     jobs_users.c         users
 *     jobs_others.c        the garbage collector, namespaces in deletion, strangers
 *     jobs_extras.c        PodGroups and other kinds that this machine's API has not
 *     jobs_rules.c         what always holds
 */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "apiserver/apiserver.h"
#include "apiserver/storage.h"
#include "manager/config.h"
#include "tests/sim/events.h"

enum {
	JOBS = 5,
	FAULTS_MS = 40000, /* faults end; users act no more */
	CALM_MS = 20000,   /* after that, all is as users asked for */
	END_MS = 600000,   /* everything has ended by then */
	CALLS = 400,       /* of the controllers' workers for each TrainJob, by then */
	REST_MS = 35000,   /* then, nobody calls any more */
};

struct world;
struct jobs;
struct process;

/* A JobSet, as its controller and the kubelet see it. */
struct run {
	char *uid, *owner; /* of the JobSet, and of its TrainJob */
	struct jobs *jobs;
	bool suspended;
	int running; /* pods */
	cJSON *sent; /* its status */
	cJSON *list; /* its Jobs, then */
	int ends;    /* that events say */
};

/* An object of the API, parsed once for each version. */
struct seen {
	char key[100];
	struct stored *stored;
	cJSON *doc;
};

/* Of a TrainJob. */
enum { JOBSET, SNAPSHOT, HOSTFILE, SECRET, TLS, N_OBJECTS, OBJECT_PATH = 140 };

struct job {
	struct world *w;
	int i;
	struct seen trainjob, objects[N_OBJECTS];
	char name[16], path[80], jobset_path[80];
	struct run *run;
	/* Of the TrainJob that there is now, by uid: */
	char *uid;
	bool finished, completed; /* its status said so */
	uint64_t end_version;     /* of the TrainJob that said so first */
	bool succeeded, failed;   /* its JobSet said so */
	bool ran_again;
	bool expired;         /* a controller deleted it after its TTL */
	bool stays_suspended; /* the user never resumes it */
	bool foreign;         /* another controller's, which does nothing */
	bool ended_elsewhere; /* the same, by that */
	bool wrong;           /* its runtime is one that JobSet refuses */
	bool objects_deleted; /* by a user: they may differ when made again */
	bool exists, suspend; /* what its user has been told is stored */
	int64_t began_ms, deadline_ms, gone_ms;
	int64_t runs_since;   /* created, or resumed after its status was Suspended */
	char *image;          /* of its first JobSet */
	char *secret;         /* its keys */
	int64_t disrupted_ms; /* a pod of it lost its node; 0: none */
	char disrupted[64];   /* its name */
	int64_t ended_ms;     /* its JobSet's first end; 0: not yet */
	int64_t late_ms;      /* its time is over, its JobSet is still there; or 0 */
	int64_t unended_ms;   /* its JobSet has ended, its status does not say so; or 0 */
	int flavor;           /* of the nodes that a queue gave it last; 0: none */
	bool changed;         /* since it was last checked */
	/* Of its name: */
	bool dying;           /* its namespace is being deleted */
	int64_t edited_ms;    /* a stranger changed its hostfile; 0: no */
	bool snapshot_edited; /* by a stranger; users delete it in the end */
	bool toggled;         /* by a stranger: suspend of its JobSet */
	char blocker[40];     /* uid of a stranger's object of one of its names, or "" */
};

struct world {
	struct sim *sim;
	struct apiserver *api;
	struct seen lease;
	struct job jobs[JOBS];
	int n_jobs, n_controllers;
	int refuse, lose, cut; /* % of calls */
	int64_t lag_ms;        /* of watches */
	bool over;             /* what is still to come does nothing */
	int64_t calls, random;
	int64_t rest_ms, rest_calls; /* all has ended since; calls by then */
	int64_t leads_since;         /* a controller; INT64_MAX: none does */
	int64_t apart_until;         /* some controller reaches nobody */
	int started;                 /* controllers that ever were */
	int changes;                 /* of a runtime */
	int late;                    /* calls that made the rest begin again */
	/*
	 * A fourth of the seeds, none of those known before: runtimes of all kinds, pods
	 * that often fail, other parts of the API.
	 */
	bool rich;
	int64_t jobset_ms; /* until then, JobSet is not installed */
	int64_t extras_ms; /* the same of what jobs_extras.c has */
};

#define NOTE(job, ...)   sim_note((job)->w->sim, __VA_ARGS__)
#define BROKEN(job, ...) sim_broken((job)->w->sim, __VA_ARGS__)
#define DICE(job, sides) sim_dice((job)->w->sim, sides)

bool is_calm(const struct world *w); /* faults have ended */
int64_t calm_for(const struct world *w);
bool percent(struct world *w, int n); /* never once it is calm */
/* Borrowed until the next call for it; NULL: there is none. */
const cJSON *seen_get(struct world *w, struct seen *s, const char *resource,
		      const char *name);
const cJSON *trainjob_of(struct job *j);
const cJSON *jobset_of(struct job *j);
struct job *job_named(struct world *w, const char *path); /* whose name is in it */

/* jobs_controllers.c */
extern struct manager_config controller_config;
void controllers_start(struct world *w);
void controllers_answer(struct httpd_response *resp, int code, const char *reason,
			const char *message);
void controllers_kill_one(struct job *j); /* of its world, as below */
void controllers_stop_one(struct job *j); /* as SIGTERM does */
void controllers_part_one(
	struct job *j); /* it reaches nobody, or is frozen, for a time */

/* jobs_nodes.c */
void nodes_look(struct job *j, int64_t ms); /* JobSet's controller does, in ms */
void nodes_lose_one(struct job *j);         /* a node, with a pod of the job */
bool nodes_refuse(struct job *j, const struct httpd_request *req); /* JobSet's webhook */

/* jobs_users.c */
void users_start(struct job *j);
void users_see_the_end(struct job *j);    /* of its JobSet: they may replace the job */
void users_see_the_status(struct job *j); /* it has ended: they may delete its JobSet */
void users_make_runtimes(struct world *w);
void users_create(struct job *j); /* the TrainJob, if there is none */
void users_lose(struct job *j);   /* it is deleted */
void users_changed(struct job *j);
cJSON *users_read(const char *text); /* JSON with ' in place of " */

/* jobs_others.c */
#define STRANGERS "strangers" /* what they write */
const char *object_path(const struct job *j, int which, char path[OBJECT_PATH]);
const cJSON *object_of(struct job *j, int which); /* as jobset_of() */
void objects_collect(struct job *j,
		     const char *uid);     /* of the TrainJob, some time later */
void objects_expire(struct job *j);        /* the same, after the TrainJob itself */
void objects_expire_jobset(struct job *j); /* alone, by its own TTL */
bool object_is_refused(struct job *j, const char *path); /* to be made */
void others_hold(struct job *j);             /* a TrainJob that its user deletes */
void others_delete_namespace(struct job *j); /* each name stands for one */
void others_edit(struct job *j);             /* a ConfigMap of the job */
void others_toggle(struct job *j);           /* suspend of its JobSet */
void others_block(struct job *j);            /* one of its names */
void others_end(struct job *j);              /* a foreign one, some time later */
void others_report(struct job *j);           /* its progress */

/* jobs_extras.c */
bool extras_answer(struct world *w, const struct httpd_request *req,
		   struct httpd_response *resp); /* false: not of these */
void extras_change(struct job *j); /* a LimitRange or RuntimeClass is made or deleted */

/* jobs_rules.c */
void rules_check(struct job *j);         /* after each change */
void rules_check_settled(struct job *j); /* once everything has ended */
void rules_check_calm(struct job *j);    /* from time to time, then */
bool rules_job_is_done(struct job *j);
void rules_on_write(struct world *w, const char *identity, const char *what);
/* A controller has deleted the TrainJob, which was `tj` before. */
void rules_on_deletion(struct job *j, const cJSON *tj);
void rules_on_new_jobset(struct job *j);
void rules_on_jobs(struct job *j, const cJSON *status); /* of its JobSet, a new one */
void rules_on_end_of_run(struct job *j);                /* its JobSet no longer exists */

#endif
