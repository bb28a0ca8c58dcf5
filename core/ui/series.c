/* series.c - the points of a job's metrics. */
#include "ui/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/progress.h"
#include "ui/html.h"

enum { FIRST = 16, MAX_NAME = 256 };

/* NaN: no number, or one that is not finite. */
static double number(const char *text)
{
	char *end;
	double v = text ? strtod(text, &end) : NAN;

	return text && end != text && !*end && isfinite(v) ? v : NAN;
}

/* The first of the metrics that count steps. */
static double step_of(const cJSON *metrics)
{
	const cJSON *m = NULL;

	for (const char *const *name = progress_step_names; !m && *name; name++)
		m = json_find_const(metrics, "name", *name);
	if (!m)
		m = json_find_const(metrics, "name", "epoch");
	return m ? number(json_str(m, "value")) : NAN;
}

/* A new one is sent whole, even if there was another of its name (of a job before). */
static struct series *find(struct series_set *set, const char *name, uint64_t version)
{
	struct series **at = &set->first;

	while (*at && !str_eq((*at)->name, name))
		at = &(*at)->next;
	if (!*at && set->n < SERIES_METRICS && strlen(name) < MAX_NAME) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->name = xstrdup(name);
		(*at)->thinned = version;
		set->n++;
		set->bytes += sizeof(**at) + MAX_NAME;
	}
	return *at;
}

/* The smallest and the largest of four points, in their order; the first two without any. */
static void keep_two(struct series_point *to, const struct series_point *p)
{
	struct series_point first;
	size_t low = 0, high = 1;

	for (size_t i = 0; i < 4; i++) {
		if (!(p[low].value <= p[i].value))
			low = isnan(p[i].value) ? low : i;
		if (!(p[high].value >= p[i].value))
			high = isnan(p[i].value) ? high : i;
	}
	if (low == high)
		high = low ? 0 : 1;
	first = p[low < high ? low : high];
	to[1] = p[low < high ? high : low];
	to[0] = first;
}

static void thin(struct series *s, uint64_t version)
{
	size_t n = 1, i = 1; /* the first and the last stay */

	for (; i + 5 <= s->n; i += 4, n += 2)
		keep_two(s->points + n, s->points + i);
	for (; i < s->n; i++)
		s->points[n++] = s->points[i];
	s->n = n;
	s->thinned = version;
}

static void set_cap(struct series_set *set, struct series *s, size_t cap)
{
	set->bytes += (cap - s->cap) * sizeof(*s->points); /* modulo 2^64 */
	s->points = xreallocarray(s->points, cap, sizeof(*s->points));
	s->cap = cap;
}

void series_thin(struct series_set *set, uint64_t version)
{
	for (struct series *s = set->first; s; s = s->next) {
		if (s->n < FIRST)
			continue;
		thin(s, version);
		set_cap(set, s, s->n);
	}
}

static void add(struct series_set *set, const char *name, struct series_point p,
		bool more)
{
	struct series *s =
		more || set->n < SERIES_METRICS ? find(set, name, p.version) : NULL;

	if (!s)
		return;
	if (s->n == SERIES_POINTS)
		thin(s, p.version);
	if (s->n == s->cap && more) {
		size_t cap = s->cap ? 2 * s->cap : FIRST;

		set_cap(set, s, cap < SERIES_POINTS ? cap : SERIES_POINTS);
	}
	if (s->n && p.ms <= s->points[s->n - 1].ms)
		p.ms = s->points[s->n - 1].ms + 1;
	if (s->n < s->cap)
		s->points[s->n++] = p;
}

bool series_add(struct series_set *set, const cJSON *job, int64_t now_ms,
		uint64_t version, bool more)
{
	const cJSON *metrics = progress_metric_list(job), *m;
	const char *updated = progress_updated(job);
	int64_t percent = progress_percentage(job), reported = progress_updated_ms(job);
	struct series_point p = { .ms = now_ms, .version = version };
	uint64_t hash = hash_json(hash_text(0, updated ? updated : ""), metrics) ^
			(uint64_t)percent;

	if ((!updated && !metrics && percent < 0) || hash == set->seen)
		return false;
	if (reported >= 0 && (now_ms < reported || now_ms - reported >= 1000))
		p.ms = reported;
	set->seen = hash;
	p.step = step_of(metrics);
	p.value = (double)percent;
	if (percent >= 0)
		add(set, "", p, more);
	json_each(m, metrics) {
		const char *name = json_str(m, "name");

		p.value = number(json_str(m, "value"));
		if (name && *name)
			add(set, name, p, more);
	}
	return true;
}

/* How many of its points are before `ms`. */
static size_t count_before(const struct series *s, int64_t ms)
{
	size_t n = s->n;

	while (n && s->points[n - 1].ms >= ms)
		n--;
	return n;
}

static void join(struct series_set *set, struct series *s, const struct series *earlier,
		 int64_t ms, uint64_t version)
{
	size_t n = count_before(earlier, ms), old = count_before(s, ms),
	       rest = s->n - old;

	if (!n)
		return;
	if (n + rest > s->cap)
		set_cap(set, s, n + rest);
	memmove(s->points + n, s->points + old, rest * sizeof(*s->points));
	memcpy(s->points, earlier->points, n * sizeof(*s->points));
	s->n = n + rest;
	s->thinned = version;
	while (s->n > SERIES_POINTS)
		thin(s, version);
	if (s->cap > SERIES_POINTS)
		set_cap(set, s, s->n);
}

void series_join(struct series_set *set, const struct series_set *earlier, int64_t ms,
		 uint64_t version)
{
	for (const struct series *p = earlier->first; p; p = p->next) {
		struct series *s = find(set, p->name, version);

		if (s)
			join(set, s, p, ms, version);
	}
}

void series_release(struct series_set *set)
{
	for (struct series *s = set->first, *next; s; s = next) {
		next = s->next;
		free(s->name);
		free(s->points);
		free(s);
	}
	*set = (struct series_set){ 0 };
}

/* The shortest form that reads as the same number. */
static void print_number(struct buf *out, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.15g", v);
	if (isnan(v))
		buf_adds(out, "null");
	else if (strtod(text, NULL) == v)
		buf_adds(out, text);
	else
		buf_printf(out, "%.17g", v);
}

void series_print(struct buf *out, const struct series_set *set, size_t i, uint64_t seen,
		  uint64_t upto)
{
	const struct series *s = set->first;
	const char *comma = "";
	bool all;

	while (i--)
		s = s->next;
	all = !seen || s->thinned > seen;
	if (!s->n || (!all && s->points[s->n - 1].version <= seen))
		return;
	html_json(out, s->name);
	buf_adds(out, all ? ",true,[" : ",false,[");
	for (const struct series_point *p = s->points; p < s->points + s->n; p++) {
		if (p->version > upto || (!all && p->version <= seen))
			continue;
		buf_printf(out, "%s[%" PRId64 ",", comma, p->ms);
		print_number(out, p->step);
		buf_adds(out, ",");
		print_number(out, p->value);
		buf_adds(out, "]");
		comma = ",";
	}
	buf_adds(out, "]");
}
