/*
 * metrics.h - counters, gauges and histograms, as Prometheus reads them.
 *
 * Metrics are defined in a constant table; a registry holds
 * the values and is safe to use from any thread. Values of labels come from a
 * bounded set (kinds, results, runtimes), never from a job's name: past
 * METRICS_MAX_SERIES of one family the rest is counted under "other". A gauge's series
 * that are 0 make room first.
 *
 *     metrics_add(m, &reconcile_total, 1, "trainjob_controller", "success");
 *
 * metrics_print() writes the text format 0.0.4: HELP, TYPE, series in the order
 * of the table, a family's series in order of arrival.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stddef.h>

#include "base/buf.h"

enum { METRICS_MAX_LABELS = 4, METRICS_MAX_SERIES = 1000 };

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
	enum metric_type type;
	const char *name, *help;
	const char *labels[METRICS_MAX_LABELS + 1]; /* end with NULL */
	const double *buckets; /* METRIC_HISTOGRAM: upper bounds, rising, without +Inf */
	size_t n_buckets;
};

struct metrics; /* a registry */

/* `table` ends with NULL; it and its metrics outlive the registry. */
struct metrics *metrics_new(const struct metric *const *table);
void metrics_free(struct metrics *m);

/* The label values follow, as many as the metric has labels. m may be NULL. */
void metrics_add_at(struct metrics *m, const struct metric *metric, double by,
		    const char *const *labels);
void metrics_set_at(struct metrics *m, const struct metric *metric, double value,
		    const char *const *labels);
void metrics_observe_at(struct metrics *m, const struct metric *metric, double value,
			const char *const *labels);

#define METRICS_LABELS_(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define metrics_add(m, metric, by, ...) \
	metrics_add_at(m, metric, by, METRICS_LABELS_(__VA_ARGS__))
#define metrics_set(m, metric, value, ...) \
	metrics_set_at(m, metric, value, METRICS_LABELS_(__VA_ARGS__))
#define metrics_observe(m, metric, value, ...) \
	metrics_observe_at(m, metric, value, METRICS_LABELS_(__VA_ARGS__))

void metrics_print(struct buf *out, struct metrics *m);

/* Print the process's own metrics (process_*, as client_golang names them) from /proc. */
void metrics_print_process(struct buf *out);

#endif
