/*
 * logs_impl.h - the state of logs_run(), shared by its files.
 *
 *     logs.c         finds the containers to read, and knows when all has been read
 *     logs_source.c  reads the log of one container, over several requests
 *
 * Only the thread of logs_run() uses these structs; informers only wake it.
 */
#ifndef CLIENT_LOGS_IMPL_H
#define CLIENT_LOGS_IMPL_H

#include "client/alone.h"
#include "client/changes.h"
#include "client/logs.h"
#include "client/logs_lines.h"
#include "client/logs_pod.h"
#include "kube/streams.h"
#include "trainer/progress_line.h"

/* A container of a pod. Its log is the logs of its runs, one after another. */
struct log_source {
	struct logs *logs;
	char *pod, *uid, *container;
	struct arena arena; /* strings of `origin`, and `created` */
	struct log_origin origin;
	int number;           /* of the container in the pod, from 1 */
	const char *created;  /* the pod's creationTimestamp */
	char *waiting_reason; /* why the container has not started; or NULL */
	bool from_start;      /* the pod appeared later: read all runs from their start */
	bool replaced;        /* a newer pod has the same rank: not read */

	/* ---- the container's state, as the API server reported it ---- */
	struct log_run run;
	bool final; /* the pod has ended: no further run */
	bool pod_gone;

	/* ---- the current or last request ---- */
	struct kube_stream *stream;
	struct log_lines lines;
	int64_t requested_run; /* the number of the requested run */
	bool any_request;      /* a request was made */
	bool previous;         /* requested with previous=true */
	bool requested_ended; /* the run had ended: a clean end of the stream ends the log */
	bool followed;        /* requested with follow=true */
	bool run_complete;    /* the run `requested_run` has been read to its end */
	bool done;            /* nothing is left to read */
	bool has_data;        /* this request has received data */
	bool missing;         /* the answer was 404: look for the pod */
	int failures;         /* in a row */
	int64_t failed_ms;    /* when the first of them happened */
	int64_t refused_ms; /* since when it is denied; 0: it is not */
	int64_t due_ms;     /* the next request is not made before this time */
	struct error why;   /* the last failure */
	bool failure_noted; /* the failures have been reported */

	struct log_source *next;
};

struct logs {
	struct kube *kube;
	const struct logs_want *want;
	const struct logs_out *out;
	struct kube_streams *streams;
	struct changes *changes; /* NULL: no watch */
	cJSON *job, *jobset;
	bool job_gone, watching; /* watching: later pods are read from their start */
	struct log_source *sources;
	size_t n_sources, n_open;
	bool several; /* perhaps more than one container: lines have a prefix */
	bool dirty;   /* call log_source_step() for all sources */
	bool stale;   /* connections broke: list the pods before the next request */
	bool missed;  /* pods may be missing among the sources */
	struct error why_missed; /* why the JobSet cannot be read; kind 0: it can */
	bool lost;               /* the lost connection was reported */
	bool answered;           /* the API server has shown a log */
	int64_t refused_ms;      /* since when the list of pods is denied; 0: it is not */
	int64_t next_ms;         /* the first due_ms of the sources; < 0: none */
	int64_t over_ms;         /* when the job ended, or was found ended; 0: not yet */
	bool over_listed;        /* its pods have been listed since */
	int64_t unlisted_ms;     /* since when that list fails; 0: it does not */
	int64_t attempt;         /* the last execution attempt of a pod; 0: the first */
	struct progress_pace pace;
	struct alone_watch watch;
	bool any_failed;    /* a log was not read to its end: ERR_IO */
	struct error fatal; /* ends logs_run() */
	/* The reason to wait, since when it holds (-1: reported), the last report. */
	char *note;
	int64_t note_ms, noted_ms;
};

/* ---- logs_source.c ---- */

/*
 * Make the next request, or mark the source as done, as its state demands. Does nothing
 * while a request is open or before due_ms. Errors end up in the source, or in `fatal`.
 */
void log_source_step(struct log_source *s, int64_t now);
void log_source_free(struct log_source *s); /* drops an open request, too */
/* Is there a run that may have unread lines? */
static inline bool log_source_readable(const struct log_source *s)
{
	return s->run.started && !s->replaced && !s->done;
}
/* Report a message that begins with the container's step and rank. */
void log_source_note(const struct log_source *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Set s->waiting_reason from the pod: "ContainerCreating", or a longer reason. */
void log_source_update_reason(struct log_source *s, const cJSON *pod);

/* ---- logs.c ---- */

/* Report a message by on_note(). */
void logs_note(const struct logs *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
