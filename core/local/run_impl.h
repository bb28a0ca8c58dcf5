/* run_impl.h - shared by the parts of run.h. For run*.c only. */
#ifndef LOCAL_RUN_IMPL_H
#define LOCAL_RUN_IMPL_H

#include "base/map.h"
#include "jobs/events.h"
#include "jobs/jobs.h"
#include "kubelet/kubelet.h"
#include "local/report.h"
#include "local/run.h"
#include "local/state_owned.h"
#include "logtext/alone.h"
#include "trainer/podname.h"

/* A pod that jobs.h created and the kubelet still has. */
struct run_pod {
	char *name;
	struct podname podname;
	bool changed;  /* on_status() was called */
	bool stopping; /* its exit is not a failure */
	bool running, ended;
	char *wait_reason; /* why it does not start, or NULL */
	cJSON *doc;        /* as published */
	bool published;
	int64_t restarts;
};

enum run_end { RUN_ACTIVE, RUN_INTERRUPTED, RUN_DELETED, RUN_TIMED_OUT };

struct run {
	const struct local_run_opts *opts;
	cJSON *trainjob, *jobset; /* ours: with uid, times and status */
	struct jobs *jobs;
	struct kubelet *kubelet;
	struct report *report;
	struct state_run state;
	int wake_fd;     /* readable: stop_fd() is, or a signal came */
	struct map pods; /* name -> struct run_pod */
	struct map
		deleted_pods; /* likewise, until replaced: clients may read their logs */
	int *port_locks;      /* the ports are reserved while these are open */
	size_t n_port_locks;
	char *mpi_tmp; /* below it are the pods' TMPDIRs; NULL: no such directory */
	int mpi_tmp_lock;

	int64_t start_ms, since_1970_ms; /* of the monotonic clock; its 0 since 1970 */
	int64_t pass_ms; /* monotonic: when the controller's next pass is due; -1: none */
	int64_t timeout_ms;      /* monotonic, of the caller; -1: none */
	int64_t running_ms;      /* likewise, until on_running(); -1: none */
	int64_t wake_ms;         /* monotonic; -1: none */
	int64_t activity_ms;     /* monotonic: when a pod last wrote, or started */
	int64_t silent_check_ms; /* likewise: when to find out why none does; -1: never */
	int64_t lines_ms;        /* of the first line since the last pause; -1: none */
	int64_t pause_ms; /* monotonic: when to call on_pause() anyway; -1: never */
	enum run_end end;
	int signal;
	bool killing;          /* the second Ctrl-C came */
	bool reported_running; /* on_running() was called */
	bool step_again;       /* call jobs_step() again */
	bool changed; /* Jobs or their JobSet may differ from what was published */
	bool failing; /* the controller's last pass failed */
	bool suspended;
	bool gives_up; /* a Job's backoffLimit is unset, and so 0 */
	int64_t restarts;
	char last_line[512]; /* the last one reported */
	struct alone alone;
	cJSON *saved_status; /* status written last */
	cJSON *published;    /* the JobSet and its Jobs, as published last */
};

/* run.c: end all running pods. grace_ms -1: with their own grace periods. */
void run_stop_all(struct run *r, int64_t grace_ms);
void run_pod_free(void *pod);

/*
 * run_prepare.c. run_set_restarts() sets how often failures are retried. run_check()
 * refuses what cannot run here in one error, and reports what is not applied.
 * run_map_ports() replaces the pipeline's ports by reserved ones; run_reserve_port()
 * reserves one until the run ends. run_add_services(), once pods have names, makes the
 * names of each Service resolve to the first pod that it selects.
 */
void run_set_restarts(struct run *r);
MUST_CHECK int run_check(struct run *r, struct error *err);
MUST_CHECK int run_map_ports(struct run *r, struct error *err);
MUST_CHECK int run_reserve_port(struct run *r, int *ret_port, struct error *err);
void run_free_ports(struct run *r);
MUST_CHECK int run_add_services(struct run *r, struct error *err);

/*
 * run_mpi.c: make mpirun start its processes on this machine. run_mpi_edit(), before the
 * Jobs are made, puts this program in the place of ssh and sshd. run_mpi_files(), once
 * pods have addresses, makes their directories and, without namespaces, a host file.
 * run_mpi_free() removes those that are not in the run's directory.
 */
MUST_CHECK int run_mpi_edit(struct run *r, struct error *err);
MUST_CHECK int run_mpi_files(struct run *r, struct error *err);
void run_mpi_free(struct run *r);
/*
 * run_supervise.c: put this program in the place of the one that pods carry, and give the
 * supervisors of the run a port of their own.
 */
MUST_CHECK int run_supervise_edit(struct run *r, struct error *err);

/*
 * run_control.c. run_listen() makes r->wake_fd readable when a stop, a suspend or resume
 * (STATE_SUSPEND) or a pass of the controller is requested; run_take_signals() applies
 * a suspend or resume, if any, and passes SIGUSR1 and SIGUSR2 on to the pods.
 * run_control() lets the controller reconcile, and saves the TrainJob if it changed;
 * `last`: the run has ended.
 */
MUST_CHECK int run_listen(struct run *r, struct error *err);
void run_take_signals(struct run *r);
MUST_CHECK int run_control(struct run *r, bool last, struct error *err);
bool run_must_pass(const struct run *r); /* is a pass of the controller due? */

/*
 * run_quiet.c. Call run_activity() when a pod has written, or started. run_check_quiet()
 * reports from time to time that a compiler runs while nothing is written: DeepSpeed,
 * torch.compile and other users of PyTorch's extensions compile for minutes without output.
 */
void run_activity(struct run *r, int64_t now_ms);
void run_check_quiet(struct run *r);

/* run_publish.c: show a line to the user, and store it in the run's directory. */
void run_note(const struct run *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Likewise a detail, which only -v shows. */
void run_detail(const struct run *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Report, by a note and an event, that the processes train alone, as r->alone says. */
void run_report_alone(struct run *r);
void run_show(struct run *r); /* show the phase, if it changed */
/*
 * Write the run's objects into its directory (state_owned.h) and, unless a server owns
 * the run, their events.
 */
void run_publish(struct run *r);
/* Record an event about the TrainJob that the controller does not record. */
void run_record(struct run *r, bool warning, const char *reason, const char *message);
void run_publish_pod(struct run *r, struct run_pod *pod, const cJSON *status);
void run_publish_gone(struct run *r, struct run_pod *take_pod);
void run_publish_replaced(struct run *r, const struct run_pod *by);

#endif
