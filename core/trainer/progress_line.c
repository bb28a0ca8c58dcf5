/* progress_line.c - word the progress of training code (trainer/progress_line.h). */
#include "trainer/progress_line.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "trainer/progress.h"

#define RUNNING "running: "

enum {
	MOST_METRICS = 3,
	METRICS_BYTES = 72,
	NAME_BYTES = 24,
	WORD_BYTES = 12,
	WHOLE_DIGITS = 9,
	BURST = 20,
	PACE_MS = 5 * 1000,
	SAME_MS = 60 * 1000,
};

/* ---- metrics ------------------------------------------------------------------------- */

/* Cut to `max` bytes, with "..." at the end; tabs and control characters are visible. */
static const char *short_text(struct arena *arena, const char *text, size_t max)
{
	char *s = str_visible(arena, text, false);

	for (char *tab = s; (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	if (strlen(s) <= max)
		return s;
	return arena_printf(arena, "%.*s...", (int)utf8_cut(s, strlen(s), max - 3), s);
}

/* A torch tensor is reported as "tensor(0.5, device='cuda:0')", a number inside. */
static const char *number_of(struct arena *arena, const char *value)
{
	const char *inside = str_after(value, "tensor(");

	return inside ? str_slice(arena, inside, strcspn(inside, ",)")) : value;
}

static bool is_whole(const char *text)
{
	const char *digits = text + (*text == '-');
	size_t n = strspn(digits, "0123456789");

	return n && n <= WHOLE_DIGITS && !digits[n];
}

/* strtod() without hexadecimal numbers, white space and "nan(...)". */
static bool read_number(double *ret, const char *text)
{
	const char *word = text + (*text == '-' || *text == '+');
	char *end;

	if (!strcasecmp(word, "nan"))
		return (*ret = NAN, true);
	if (!strcasecmp(word, "inf") || !strcasecmp(word, "infinity"))
		return (*ret = *text == '-' ? -INFINITY : INFINITY, true);
	if (!*word || word[strspn(word, "0123456789.eE+-")])
		return false;
	*ret = strtod(text, &end);
	return !*end;
}

/* "1.23", "4.5e-05", "12346", "NaN"; other text as it is, cut. */
static const char *value_text(struct arena *arena, const char *value)
{
	const char *text = number_of(arena, value);
	double number;

	if (is_whole(text))
		return text;
	if (!read_number(&number, text))
		return short_text(arena, value, WORD_BYTES);
	if (isnan(number))
		return "NaN";
	if (isinf(number))
		return number > 0 ? "inf" : "-inf";
	if (fabs(number) >= 1000 && fabs(number) < 1e6)
		return arena_printf(arena, "%.0f", number);
	return arena_printf(arena, "%.3g", number);
}

static bool is_not_finite(struct arena *arena, const char *value)
{
	double number;

	return read_number(&number, number_of(arena, value)) && !isfinite(number);
}

/* Is it this name, whatever its case, or written with '/', '.', '-' or a space for '_'? */
static bool is_named(const char *name, const char *want)
{
	for (; *name && *want; name++, want++)
		if (tolower((unsigned char)*name) != *want &&
		    !(*want == '_' && strchr("/.- ", *name)))
			return false;
	return !*name && !*want;
}

/* Smaller is shown earlier. */
static size_t order_of(struct arena *arena, const char *name, const char *value)
{
	static const char *const losses[] = { "loss", "train_loss", "eval_loss",
					      "val_loss" };
	size_t i = 0;

	while (i < N_ELEMENTS(losses) && !is_named(name, losses[i]))
		i++;
	return i < N_ELEMENTS(losses) || is_not_finite(arena, value) ? i : i + 1;
}

struct shown_metric {
	const char *name, *value;
	size_t order;
};

/* Insert it behind those of the same order; the last of MOST_METRICS falls out. */
static void insert(struct shown_metric *list, size_t *n, struct shown_metric m)
{
	size_t at = *n;

	while (at > 0 && list[at - 1].order > m.order)
		at--;
	if (at == MOST_METRICS)
		return;
	*n += *n < MOST_METRICS;
	memmove(list + at + 1, list + at, (*n - at - 1) * sizeof(*list));
	list[at] = m;
}

const char *progress_metrics(struct arena *arena, const cJSON *tj)
{
	struct shown_metric list[MOST_METRICS];
	const char *text = "";
	const cJSON *metric;
	size_t n = 0;

	json_each(metric, progress_metric_list(tj)) {
		struct shown_metric m = { json_str(metric, "name"),
					  json_str(metric, "value"), 0 };

		if (!m.name || !m.value || !*m.name || !*m.value)
			continue;
		m.order = order_of(arena, m.name, m.value);
		insert(list, &n, m);
	}
	for (size_t i = 0; i < n; i++) {
		const char *more =
			arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "",
				     short_text(arena, list[i].name, NAME_BYTES),
				     value_text(arena, list[i].value));

		if (strlen(more) <= METRICS_BYTES)
			text = more;
	}
	return text;
}

/* ---- the line ------------------------------------------------------------------------ */

const char *progress_line(struct arena *arena, const cJSON *tj)
{
	int64_t percent = progress_percentage(tj), left = progress_remaining(tj);
	const char *metrics = progress_metrics(arena, tj);
	char text[DURATION_TEXT_SIZE];
	const char *line = "";

	if (percent >= 0)
		line = arena_printf(arena, ", %lld %%", (long long)percent);
	if (*metrics)
		line = arena_printf(arena, "%s, %s", line, metrics);
	if (left > 0 || (left == 0 && percent < 100))
		line = arena_printf(arena, "%s, %s left", line, duration_age(left, text));
	return *line ? arena_printf(arena, RUNNING "%s", line + 2) : "running";
}

/* ---- the pace ------------------------------------------------------------------------ */

/* A phase, such as "pods starting: 1/2 ready", and not what the job reports. */
static bool is_phase(const char *line)
{
	return !strstr(line, RUNNING) || str_ends(line, " pods ready");
}

/* Is a metric NaN or infinite? */
static bool has_nan(const char *line)
{
	static const char *const words[] = { " NaN", " inf", " -inf" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		const char *found = strstr(line, words[i]);

		if (found && strchr(",", found[strlen(words[i])]))
			return true;
	}
	return false;
}

/* Another percentage, which stands before the first comma, or the first NaN. */
static bool is_news(const char *last, const char *line)
{
	size_t len = strcspn(line, ",");

	if (is_phase(last))
		return true;
	if (!memchr(line, '%', len))
		len = (size_t)(strstr(line, RUNNING) - line) + strlen(RUNNING);
	return strncmp(last, line, len) || (has_nan(line) && !has_nan(last));
}

static bool is_due(struct progress_pace *pace, const char *line, int64_t now)
{
	if (is_phase(line))
		return !str_eq(pace->last, line);
	if (!is_news(pace->last, line) && now - pace->printed < SAME_MS)
		return false;
	if (pace->free_from < now)
		pace->free_from = now;
	if (pace->free_from - now >= (int64_t)BURST * PACE_MS)
		return false;
	pace->free_from += PACE_MS;
	return true;
}

bool progress_is_due(struct progress_pace *pace, const char *line, int64_t now)
{
	if (!is_due(pace, line, now))
		return false;
	pace->printed = now;
	snprintf(pace->last, sizeof(pace->last), "%s", line);
	return true;
}

bool progress_turns_nan(struct progress_pace *pace, const char *line)
{
	bool ret = has_nan(line) && !has_nan(pace->last);

	snprintf(pace->last, sizeof(pace->last), "%s", line);
	return ret;
}
