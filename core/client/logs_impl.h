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

#include "client/changes.h"
#include "client/logs.h"
#include "client/logs_lines.h"
#include "client/logs_pod.h"
#include "kube/streams.h"

/* A container of a pod. Its log is the logs of its runs, one after another. */
struct source {
	struct logs *logs;
	char *pod, *uid, *container;
	struct arena arena; /* strings of `place`, and `created` */
	struct log_place place;
	int number;          /* of the container in the pod, from 1 */
	const char *created; /* the pod's creationTimestamp */
	char *waits;     /* why the container has not started, as a message; or NULL */
	bool from_start; /* the pod appeared later: read all runs from their start */
	bool replaced;   /* a newer pod has the same rank: not read */

	/* ---- the container's state, as the API server reported it ---- */
	struct log_run run;
	bool final; /* the pod has ended: no further run */
	bool pod_gone;

	/* ---- the current or last request ---- */
	struct kube_stream *stream;
	struct log_lines lines;
	int64_t asked;     /* the number of the requested run */
	bool asked_any;    /* a request was made */
	bool previous;     /* requested with previous=true */
	bool asked_ended;  /* the run had ended: a clean end of the stream ends the log */
	bool followed;     /* requested with follow=true */
	bool whole;        /* the run `asked` has been read to its end */
	bool done;         /* nothing is left to read */
	bool heard;        /* this request has received data */
	int failures;      /* in a row */
	int64_t failed_ms; /* when the first of them happened */
	int64_t due_ms;    /* the next request is not made before this time */
	struct error why;  /* the last failure */
	bool failure_noted; /* the failures have been reported */

	struct source *next;
};

struct logs {
	struct kube *kube;
	const struct logs_want *want;
	const struct logs_out *out;
	struct kube_streams *streams;
	struct changes *changes; /* NULL: no watch */
	cJSON *job, *jobset;
	bool job_gone, watching; /* watching: later pods are read from their start */
	struct source *sources;
	size_t n_sources, n_open;
	bool several; /* perhaps more than one container: lines have a prefix */
	bool dirty;   /* call source_step() for all sources */
	bool stale;   /* connections broke: list the pods before the next request */
	bool missed;  /* pods may be missing among the sources */
	struct error why_missed; /* the JobSet's; kind 0: not the reason */
	bool lost;               /* the lost connection was reported */
	int64_t next_ms;         /* the first due_ms of the sources; < 0: none */
	int64_t over_ms;         /* when the job ended, or was found ended; 0: not yet */
	bool over_listed;        /* its pods have been listed since */
	int64_t unlisted_ms;     /* since when that list fails; 0: it does not */
	int64_t since;           /* --since in seconds since 1970; -1: none */
	int64_t percent;         /* the progress reported last; -1: none */
	bool any_failed;         /* a log was not read to its end: ERR_IO */
	struct error fatal;      /* ends logs_run() */
	/* The reason to wait, since when it holds (-1: reported), the last report. */
	char *note;
	int64_t note_ms, noted_ms;
};

/* ---- logs_source.c ---- */

/*
 * Make the next request, or mark the source as done, as its state demands. Does nothing
 * while a request is open or before due_ms. Errors end up in the source, or in `fatal`.
 */
void source_step(struct source *s, int64_t now);
void source_free(struct source *s); /* drops an open request, too */
/* Is there a run that may have unread lines? */
static inline bool source_readable(const struct source *s)
{
	return s->run.started && !s->replaced && !s->done;
}
/* Report a message that begins with the container's step and rank. */
void source_note(const struct source *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Set s->waits from the pod: "ContainerCreating", or a longer reason. */
void source_waits(struct source *s, const cJSON *pod);

/* ---- logs.c ---- */

/* Report a message by on_note(). */
void logs_note(const struct logs *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
