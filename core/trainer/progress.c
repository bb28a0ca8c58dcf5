/* progress.c - parse the progress of training code (trainer/progress.h). */
#include "trainer/progress.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

#define KEY "trainerStatus"

enum { MAX_METRICS = 256, MAX_TEXT = 64 };

static int invalid(struct error *err, const char *key, const char *what)
{
	return error_set(err, ERR_INVALID, KEY ".%s: %s", key, what);
}

static int read_count(cJSON *to, const cJSON *from, const char *key, struct error *err)
{
	const cJSON *node = json_get(from, key);
	int64_t n;

	if (!node)
		return 0;
	if (!json_int_of(node, &n) || n < INT32_MIN || n > INT32_MAX)
		return invalid(err, key, "must be a 32 bit integer");
	json_put_int(to, n, key);
	return 0;
}

static int read_text(cJSON *to, const cJSON *from, const char *key, struct error *err)
{
	const cJSON *node = json_get(from, key);

	if (node && !cJSON_IsString(node))
		return invalid(err, "metrics", "names and values must be strings");
	json_put_str(to, node ? node->valuestring : "", key);
	return 0;
}

static int read_metrics(cJSON *to, const cJSON *from, struct error *err)
{
	const cJSON *list = json_get(from, "metrics"), *metric;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list))
		return invalid(err, "metrics", "must be a list");
	json_each(metric, list) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddItemToArray(json_list(to, "metrics"), one);
		if (!cJSON_IsObject(metric) && !cJSON_IsNull(metric))
			return invalid(err, "metrics", "must be a list of objects");
		if (read_text(one, metric, "name", err) ||
		    read_text(one, metric, "value", err))
			return -1;
	}
	return 0;
}

static int read_time(cJSON *to, const cJSON *from, struct error *err)
{
	const cJSON *node = json_get(from, "lastUpdatedTime");
	char text[TIME_TEXT_SIZE];
	int64_t seconds;

	if (!node)
		return 0;
	if (!cJSON_IsString(node))
		return invalid(err, "lastUpdatedTime", "must be a string");
	if (time_parse(&seconds, node->valuestring, err))
		return error_wrap(err, KEY ".lastUpdatedTime");
	json_put_str(to, time_text(seconds, text), "lastUpdatedTime");
	return 0;
}

int progress_read(cJSON **ret, const cJSON *body, struct error *err)
{
	const cJSON *from = json_get(body, KEY);
	cleanup_json cJSON *to = cJSON_CreateObject();

	if (!cJSON_IsObject(body) && !cJSON_IsNull(body))
		return error_set(err, ERR_INVALID, "the body must be an object");
	if (from && !cJSON_IsObject(from))
		return error_set(err, ERR_INVALID, KEY ": must be an object");
	if (read_count(to, from, "progressPercentage", err) ||
	    read_count(to, from, "estimatedRemainingSeconds", err) ||
	    read_metrics(to, from, err) || read_time(to, from, err))
		return -1;
	*ret = from ? STEAL(to) : NULL;
	return 0;
}

/* The length of the first JSON value. Text after it is ignored, as by upstream. */
static size_t first_value(const char *text, size_t len)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (!quoted && text[i] == '{')
			depth++;
		else if (!quoted && text[i] == '}' && (!depth || !--depth))
			return i + 1;
	}
	return len;
}

int progress_body(cJSON **ret, const char *text, size_t len, struct error *err)
{
	return json_parse(ret, text, first_value(text, len), err);
}

int progress_parse(cJSON **ret, const char *text, size_t len, struct error *err)
{
	cleanup_json cJSON *doc = NULL;

	return progress_body(&doc, text, len, err) ? -1 : progress_read(ret, doc, err);
}

void progress_keep_time(cJSON *progress, const char *text, size_t len)
{
	cleanup_json cJSON *doc = NULL;
	const char *time;

	if (progress_body(&doc, text, len, IGNORED))
		return;
	time = json_str(doc, KEY, "lastUpdatedTime");
	if (time)
		json_put_str(progress, time, "lastUpdatedTime");
}

/* One to MAX_TEXT characters. */
static bool is_short(const cJSON *metric, const char *key)
{
	const char *text = json_str(metric, key);
	size_t n = 0;

	for (const char *c = text; c && *c; c++)
		n += (*c & 0xc0) != 0x80;
	return n >= 1 && n <= MAX_TEXT;
}

int progress_check(const cJSON *progress, struct error *err)
{
	int64_t percent = json_int(progress, 0, "progressPercentage");
	const cJSON *list = json_get(progress, "metrics"), *metric;

	if (percent < 0 || percent > 100)
		return invalid(err, "progressPercentage", "must be 0 to 100");
	if (json_int(progress, 0, "estimatedRemainingSeconds") < 0)
		return invalid(err, "estimatedRemainingSeconds", "must not be negative");
	if (!json_str(progress, "lastUpdatedTime"))
		return invalid(err, "lastUpdatedTime", "required");
	if (cJSON_GetArraySize(list) > MAX_METRICS)
		return invalid(err, "metrics", "must have at most 256 items");
	json_each(metric, list)
		if (!is_short(metric, "name") || !is_short(metric, "value"))
			return invalid(err, "metrics",
				       "names and values must have 1 to 64 characters");
	return 0;
}

cJSON *progress_new(int percent, int64_t seconds_left, int64_t now)
{
	cJSON *progress = cJSON_CreateObject();
	char text[TIME_TEXT_SIZE];

	json_put_int(progress, percent, "progressPercentage");
	if (seconds_left >= 0)
		json_put_int(progress,
			     seconds_left < INT32_MAX ? seconds_left : INT32_MAX,
			     "estimatedRemainingSeconds");
	json_put_str(progress, time_text(now, text), "lastUpdatedTime");
	return progress;
}

cJSON *progress_echo(const cJSON *progress)
{
	cJSON *echo = cJSON_CreateObject();

	json_put(echo, json_dup(progress), KEY);
	return echo;
}

cJSON *progress_refusal(int code, const char *reason, const char *message)
{
	cJSON *status = cJSON_CreateObject();

	json_obj(status, "metadata");
	json_put_str(status, "Failure", "status");
	json_put_str(status, message, "message");
	json_put_str(status, reason, "reason");
	json_put_int(status, code, "code");
	return status;
}

void progress_put(cJSON *tj, const cJSON *progress)
{
	json_put(tj, json_dup(progress), "status", KEY);
}

int64_t progress_percentage(const cJSON *tj)
{
	return json_int(tj, -1, "status", KEY, "progressPercentage");
}

int64_t progress_remaining(const cJSON *tj)
{
	return json_int(tj, -1, "status", KEY, "estimatedRemainingSeconds");
}

const char *progress_updated(const cJSON *tj)
{
	return json_str(tj, "status", KEY, "lastUpdatedTime");
}

int64_t progress_updated_ms(const cJSON *tj)
{
	const char *text = progress_updated(tj);
	const char *dot = text ? strchr(text, '.') : NULL;
	int64_t seconds, ms = 0;

	if (!text || time_parse(&seconds, text, IGNORED) || seconds < 0)
		return -1;
	for (int i = 100; dot && i && *++dot >= '0' && *dot <= '9'; i /= 10)
		ms += (*dot - '0') * i;
	return seconds * 1000 + ms;
}

void progress_put_line(cJSON *tj, const cJSON *line)
{
	cleanup_json cJSON *copy = json_dup(line);

	json_put(copy, json_dup(json_get(line, "time")), "lastUpdatedTime");
	json_del(copy, JSON_PATH("time"));
	progress_put(tj, copy);
}

const cJSON *progress_of(const cJSON *status)
{
	return json_get(status, KEY);
}

const char *const progress_step_names[] = { "current_step", "global_step", "step",
					    "steps",        "iteration",   NULL };

int64_t progress_step(const cJSON *progress)
{
	const cJSON *metric;
	double highest = 0;

	json_each(metric, json_get(progress, "metrics")) {
		const char *name = json_str(metric, "name");
		const char *value = json_str(metric, "value");
		double n = name && value && str_in(name, progress_step_names)
				   ? strtod(value, NULL)
				   : 0;

		highest = n > highest ? n : highest; /* false for NaN */
	}
	return highest < UINT32_MAX ? (int64_t)highest : UINT32_MAX;
}

const cJSON *progress_metric_list(const cJSON *tj)
{
	return json_get(tj, "status", KEY, "metrics");
}
