/* Counts metrics and prints them for Prometheus: metrics.h. */
#include "base/metrics.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_LABEL = 256, NUMBER_SIZE = 32, RECENT = 8 };

/* The key in its family's map is the labels as they are printed. */
struct series {
	char *labels[METRICS_MAX_LABELS]; /* NULL: not given */
	double value;                     /* a histogram's sum */
	uint64_t count;
	uint64_t in_bucket[]; /* not cumulative */
};

struct family {
	const struct metric *metric;
	struct map series;
	struct series *recent[RECENT]; /* finds series without building the key */
	size_t next_recent;
	bool has_other; /* some of what is counted is under "other" */
};

struct metrics {
	pthread_mutex_t lock;
	size_t n;
	struct family families[];
};

static struct series *series_new(const struct metric *metric)
{
	return xcalloc(1, sizeof(struct series) + metric->n_buckets * sizeof(uint64_t));
}

static void series_free(void *p)
{
	struct series *s = p;

	for (size_t i = 0; i < METRICS_MAX_LABELS; i++)
		free(s->labels[i]);
	free(s);
}

struct metrics *metrics_new(const struct metric *const *table)
{
	struct metrics *m;
	size_t n = 0;

	while (table[n])
		n++;
	m = xcalloc(1, sizeof(*m) + n * sizeof(*m->families));
	pthread_mutex_init(&m->lock, NULL);
	for (m->n = 0; m->n < n; m->n++) {
		struct family *f = &m->families[m->n];

		f->metric = table[m->n];
		/* one without labels exists from the start, as 0 */
		if (!f->metric->labels[0])
			map_put(&f->series, "", series_new(f->metric));
	}
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		map_release(&m->families[i].series, series_free);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Add runs of plain characters at once. */
static void add_escaped(struct buf *out, const char *s, const char *special)
{
	for (;;) {
		size_t plain = 0;

		while (s[plain] && s[plain] != '\n' && !strchr(special, s[plain]))
			plain++;
		buf_add(out, s, plain);
		s += plain;
		if (!*s)
			return;
		buf_add(out, "\\", 1);
		buf_add(out, *s == '\n' ? "n" : s, 1);
		s++;
	}
}

/* a="x",b="y"; every value is `instead` when that is given. */
static void labels_text(struct buf *out, const struct metric *metric,
			const char *const *values, const char *instead)
{
	bool ended = false;

	for (size_t i = 0; i < METRICS_MAX_LABELS && metric->labels[i]; i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *value = instead;

		ended = ended || !values[i];
		if (!value)
			value = ended ? "" : values[i];
		if (strlen(value) >= MAX_LABEL)
			value = str_slice(&arena, value, MAX_LABEL - 1);
		if (i)
			buf_add(out, ",", 1);
		buf_adds(out, metric->labels[i]);
		buf_adds(out, "=\"");
		add_escaped(out, value, "\\\"");
		buf_adds(out, "\"");
	}
	if (!out->data)
		buf_adds(out, "");
}

static bool has_labels(const struct family *f, const struct series *s,
		       const char *const *values)
{
	bool ended = false;

	for (size_t i = 0; i < METRICS_MAX_LABELS && f->metric->labels[i]; i++) {
		ended = ended || !values[i];
		if (!s->labels[i] || strcmp(s->labels[i], ended ? "" : values[i]) != 0)
			return false;
	}
	return true;
}

static struct series *find_recent(const struct family *f, const char *const *values)
{
	for (size_t i = 0; i < RECENT && f->recent[i]; i++)
		if (has_labels(f, f->recent[i], values))
			return f->recent[i];
	return NULL;
}

/* A series that stands for others has no labels, and stays as long as its family. */
static void keep_recent(struct family *f, struct series *s, const char *const *values)
{
	bool ended = false;

	for (size_t i = 0; i < METRICS_MAX_LABELS && f->metric->labels[i]; i++) {
		ended = ended || !values[i];
		free(s->labels[i]);
		s->labels[i] = xstrdup(ended ? "" : values[i]);
	}
	f->recent[f->next_recent++ % RECENT] = s;
}

/*
 * Makes room for another series of a gauge, such as that of a runtime which has TrainJobs
 * when all those of another are gone. Not once "other" is in use: what is counted there
 * would be taken off elsewhere.
 */
static void drop_zeros(struct family *f)
{
	if (f->metric->type != METRIC_GAUGE || f->has_other)
		return;
	memset(f->recent, 0, sizeof(f->recent));
	f->next_recent = 0;
	map_each(e, &f->series)
		if (((struct series *)e->value)->value == 0)
			series_free(map_del(&f->series, e->key));
}

/* By the text of its labels; created if needed. */
static struct series *find_slowly(struct family *f, const char *const *values)
{
	cleanup_buf struct buf key = { .max = 4 * METRICS_MAX_LABELS * MAX_LABEL };
	const struct metric *metric = f->metric;
	struct series *s;

	labels_text(&key, metric, values, NULL);
	s = map_get(&f->series, (char *)key.data);
	if (!s && f->series.n >= METRICS_MAX_SERIES)
		drop_zeros(f);
	if (!s && f->series.n >= METRICS_MAX_SERIES) {
		f->has_other = true;
		buf_clear(&key);
		labels_text(&key, metric, values, "other");
		s = map_get(&f->series, (char *)key.data);
		if (!s)
			map_put(&f->series, (char *)key.data, s = series_new(metric));
		return s;
	}
	if (!s) {
		s = series_new(metric);
		map_put(&f->series, (char *)key.data, s);
	}
	keep_recent(f, s, values);
	return s;
}

/* With the lock. NULL: the registry does not have the metric. */
static struct series *find(struct metrics *m, const struct metric *metric,
			   const char *const *values)
{
	struct family *f = NULL;
	struct series *s;

	for (size_t i = 0; i < m->n && !f; i++)
		if (m->families[i].metric == metric)
			f = &m->families[i];
	if (!f)
		return NULL;
	s = find_recent(f, values);
	return s ? s : find_slowly(f, values);
}

static void observe(struct series *s, const struct metric *metric, double value)
{
	size_t i = 0;

	while (i < metric->n_buckets && !(value <= metric->buckets[i]))
		i++;
	if (i < metric->n_buckets)
		s->in_bucket[i]++;
	s->count++;
	s->value += value;
}

enum change { ADD, SET, OBSERVE };

static void change(struct metrics *m, const struct metric *metric, enum change how,
		   double value, const char *const *labels)
{
	struct series *s;

	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	s = find(m, metric, labels);
	if (s && how == ADD)
		s->value += value;
	else if (s && how == SET)
		s->value = value;
	else if (s)
		observe(s, metric, value);
	pthread_mutex_unlock(&m->lock);
}

void metrics_add_at(struct metrics *m, const struct metric *metric, double by,
		    const char *const *labels)
{
	change(m, metric, ADD, by, labels);
}

void metrics_set_at(struct metrics *m, const struct metric *metric, double value,
		    const char *const *labels)
{
	change(m, metric, SET, value, labels);
}

void metrics_observe_at(struct metrics *m, const struct metric *metric, double value,
			const char *const *labels)
{
	change(m, metric, OBSERVE, value, labels);
}

/* The shortest text that is read back as the same number. */
static const char *number(double value, char text[NUMBER_SIZE])
{
	if (isnan(value))
		return "NaN";
	if (isinf(value))
		return value > 0 ? "+Inf" : "-Inf";
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, NUMBER_SIZE, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return text;
}

static void print_head(struct buf *out, const char *name, const char *help,
		       const char *type)
{
	buf_printf(out, "# HELP %s ", name);
	add_escaped(out, help, "\\");
	buf_printf(out, "\n# TYPE %s %s\n", name, type);
}

static void print_histogram(struct buf *out, const struct metric *metric,
			    const char *labels, const struct series *s)
{
	const char *sep = *labels ? "," : "";
	char text[NUMBER_SIZE];
	uint64_t below = 0;

	for (size_t i = 0; i < metric->n_buckets; i++) {
		below += s->in_bucket[i];
		buf_printf(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", metric->name, labels,
			   sep, number(metric->buckets[i], text),
			   (unsigned long long)below);
	}
	buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", metric->name, labels, sep,
		   (unsigned long long)s->count);
	buf_printf(out, "%s_sum%s%s%s %s\n", metric->name, *labels ? "{" : "", labels,
		   *labels ? "}" : "", number(s->value, text));
	buf_printf(out, "%s_count%s%s%s %llu\n", metric->name, *labels ? "{" : "", labels,
		   *labels ? "}" : "", (unsigned long long)s->count);
}

static void print_family(struct buf *out, const struct family *f)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	const struct metric *metric = f->metric;
	char text[NUMBER_SIZE];

	if (!f->series.n)
		return;
	print_head(out, metric->name, metric->help, types[metric->type]);
	map_each(e, &f->series) {
		const struct series *s = e->value;

		if (metric->type == METRIC_HISTOGRAM)
			print_histogram(out, metric, e->key, s);
		else
			buf_printf(out, "%s%s%s%s %s\n", metric->name, *e->key ? "{" : "",
				   e->key, *e->key ? "}" : "", number(s->value, text));
	}
}

void metrics_print(struct buf *out, struct metrics *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n; i++)
		print_family(out, &m->families[i]);
	pthread_mutex_unlock(&m->lock);
}

/* ---- the process itself ---- */

static void print_one(struct buf *out, const char *name, const char *help,
		      const char *type, double value)
{
	char text[NUMBER_SIZE];

	print_head(out, name, help, type);
	buf_printf(out, "%s %s\n", name, number(value, text));
}

static double open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	double n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n - 1; /* the folder itself */
}

/*
 * Field number n (from 1) of /proc/self/stat; the second one may contain any character.
 */
static double stat_field(const struct buf *stat, int n)
{
	const char *p = stat->data ? strrchr((char *)stat->data, ')') : NULL;

	for (int i = 2; p && i < n; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? strtod(p, NULL) : 0;
}

static double boot_seconds(void)
{
	cleanup_buf struct buf text = { .max = 1024 * 1024 };
	const char *line;

	if (file_read(&text, "/proc/stat", IGNORED) || !text.data)
		return 0;
	line = strstr((char *)text.data, "\nbtime ");
	return line ? strtod(line + strlen("\nbtime "), NULL) : 0;
}

static double limit_of(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return 0;
	return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

void metrics_print_process(struct buf *out)
{
	cleanup_buf struct buf stat = { .max = 64 * 1024 };
	double tick = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);

	if (file_read(&stat, "/proc/self/stat", IGNORED))
		return;
	print_one(out, "process_cpu_seconds_total",
		  "Total user and system CPU time spent in seconds.", "counter",
		  (stat_field(&stat, 14) + stat_field(&stat, 15)) / tick);
	print_one(out, "process_max_fds", "Maximum number of open file descriptors.",
		  "gauge", limit_of(RLIMIT_NOFILE));
	print_one(out, "process_open_fds", "Number of open file descriptors.", "gauge",
		  open_fds());
	print_one(out, "process_resident_memory_bytes", "Resident memory size in bytes.",
		  "gauge", stat_field(&stat, 24) * page);
	print_one(out, "process_start_time_seconds",
		  "Start time of the process since unix epoch in seconds.", "gauge",
		  boot_seconds() + stat_field(&stat, 22) / tick);
	print_one(out, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
		  "gauge", stat_field(&stat, 23));
	print_one(out, "process_virtual_memory_max_bytes",
		  "Maximum amount of virtual memory available in bytes.", "gauge",
		  limit_of(RLIMIT_AS));
}
