/*
 * logs_impl.h - what logs.c (which pods, when it is over) and logs_source.c (reading one
 * container) share.
 */
#ifndef CLIENT_LOGS_IMPL_H
#define CLIENT_LOGS_IMPL_H

#include "client/changes.h"
#include "client/logs.h"
#include "client/logs_lines.h"
#include "client/logs_pod.h"
#include "kube/streams.h"

/* A container of a pod. Its log is that of its runs, one after another. */
struct source {
	struct logs *logs;
	char *pod, *uid, *container;
	struct arena arena; /* of what follows */
	struct log_place place;
	int number;          /* of the container in the pod */
	const char *created; /* the pod */
	char *waits;         /* why it has not started, in words; or NULL */
	bool from_start;     /* it came while we were reading: all its runs are read */
	bool replaced;       /* a newer pod has its place: not read */

	/* what is known of it */
	struct log_run run;
	bool final; /* no further run comes */
	bool pod_gone;

	/* what is under way or was asked for last */
	struct kube_stream *stream;
	struct log_lines lines;
	int64_t asked; /* the run */
	bool asked_any;
	bool previous;    /* it was asked for as the one before */
	bool asked_ended; /* it was over by then: an end in order is the end of it */
	bool followed;
	bool whole;         /* the run `asked` has been read to its end */
	bool done;          /* nothing more comes */
	bool heard;         /* something came in this request */
	int failures;       /* in a row */
	int64_t failed_ms;  /* when the first of them was */
	int64_t due_ms;     /* not before that */
	struct error why;   /* the last failure's */
	bool failure_noted; /* on stderr */

	struct source *next;
};

struct logs {
	struct kube *kube;
	const struct logs_want *want;
	const struct logs_out *out;
	struct kube_streams *streams;
	struct changes *changes; /* NULL: no watch */
	cJSON *job, *jobset;
	bool job_gone, watching; /* sources that come now are read from their start */
	struct source *sources;
	size_t n_sources, n_open;
	bool several;
	bool dirty;  /* look at all sources */
	bool stale;  /* connections broke: ask for the pods again before going on */
	bool missed; /* and there are some that are not among the sources */
	struct error why_missed;
	bool lost;           /* a note about it was written */
	int64_t next_ms;     /* when the next source is due; < 0: none waits for a time */
	int64_t over_ms;     /* since when the job is over; 0: it is not */
	bool over_listed;    /* its pods have been asked for since */
	int64_t unlisted_ms; /* since when that fails; 0: it does not */
	int64_t since;       /* of --since: seconds since 1970; -1 */
	int64_t percent;     /* of the progress noted last; -1: none */
	bool any_failed;
	struct error fatal; /* ends it all */
	/* of what is waited for */
	char *note;
	int64_t note_ms, noted_ms;
};

/* ---- logs_source.c ---- */

/* Open, go on with, or be done with it, as what is known of it has it. */
void source_step(struct source *s, int64_t now);
void source_free(struct source *s);
/* Its next run, or the rest of this one, may be asked for. */
static inline bool source_readable(const struct source *s)
{
	return s->run.started && !s->replaced && !s->done;
}
/* A note, with the place in front. */
void source_note(const struct source *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "ContainerCreating", ... of the pod as it is; in the source. */
void source_waits(struct source *s, const cJSON *pod);

/* ---- logs.c ---- */
void logs_note(const struct logs *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
