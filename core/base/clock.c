/* Reads clocks; parses and prints times and durations: clock.h. */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec / 1000000;
}

int64_t clock_up_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec / 1000000;
}

double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

void clock_sleep_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / SECOND, .tv_nsec = ms % SECOND * 1000000 };

	while (ms > 0 && nanosleep(&t, &t) && errno == EINTR)
		;
}

int64_t clock_dice(int64_t sides)
{
	uint32_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) < 0)
		n = (uint32_t)clock_ms();
	return n % sides;
}

int64_t clock_seconds_ms(int64_t seconds)
{
	static const int64_t most = 1000LL * 366 * 24 * 3600;

	return (seconds < -most ? -most : seconds > most ? most : seconds) * SECOND;
}

static void put_number(char *to, int v, int digits)
{
	for (int i = digits - 1; i >= 0; i--, v /= 10)
		to[i] = (char)('0' + v % 10);
}

const char *time_text(int64_t seconds, char text[TIME_TEXT_SIZE])
{
	static const int64_t first = -62167219200, last = 253402300799;
	time_t t = seconds < first ? first : seconds > last ? last : seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	memcpy(text, "YYYY-MM-DDThh:mm:ssZ", 21);
	put_number(text, tm.tm_year + 1900, 4);
	put_number(text + 5, tm.tm_mon + 1, 2);
	put_number(text + 8, tm.tm_mday, 2);
	put_number(text + 11, tm.tm_hour, 2);
	put_number(text + 14, tm.tm_min, 2);
	put_number(text + 17, tm.tm_sec, 2);
	return text;
}

const char *time_micro_text(int64_t seconds, int64_t us, char text[TIME_TEXT_SIZE])
{
	char whole[TIME_TEXT_SIZE];
	int part = us < 0 ? 0 : us > 999999 ? 999999 : (int)us;

	snprintf(text, TIME_TEXT_SIZE, "%.19s.%06dZ", time_text(seconds, whole), part);
	return text;
}

const char *time_micro_now(char text[TIME_TEXT_SIZE])
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return time_micro_text(t.tv_sec, t.tv_nsec / 1000, text);
}

/* The number at text+at, `digits` long and within [min, max]; -1 when it is not. */
static int field(const char *text, size_t at, int digits, int min, int max)
{
	int v = 0;

	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)text[at + (size_t)i]))
			return -1;
		v = v * 10 + text[at + (size_t)i] - '0';
	}
	return v < min || v > max ? -1 : v;
}

/* "Z", "+01:00", "-05:30" and then the end: seconds east of UTC. */
static bool parse_offset(const char *s, int *ret)
{
	int hours, minutes;

	*ret = 0;
	if (*s == 'Z' || *s == 'z')
		return !s[1];
	if ((*s != '+' && *s != '-') || strlen(s) != 6 || s[3] != ':')
		return false;
	hours = field(s, 1, 2, 0, 23);
	minutes = field(s, 4, 2, 0, 59);
	*ret = (hours * 60 + minutes) * (*s == '-' ? -60 : 60);
	return hours >= 0 && minutes >= 0;
}

static bool has_shape(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00";

	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == '0' ? !isdigit((unsigned char)text[i])
				    : toupper((unsigned char)text[i]) != shape[i])
			return false;
	return true;
}

static int days_in_month(int year, int month)
{
	static const char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month < 1 || month > 12 ? 0 : days[month - 1] + (month == 2 && leap);
}

int time_parse(int64_t *ret, const char *text, struct error *err)
{
	struct tm tm;
	const char *zone;
	int year, month, offset;

	if (!has_shape(text))
		return error_set(err, ERR_FORMAT,
				 "'%.60s' is not a time like 2026-01-31T23:59:59Z", text);
	zone = text + 19;
	if ((*zone == '.' || *zone == ',') && isdigit((unsigned char)zone[1]))
		zone += 1 + strspn(zone + 1, "0123456789");
	year = field(text, 0, 4, 0, 9999);
	month = field(text, 5, 2, 1, 12);
	tm = (struct tm){
		.tm_year = year - 1900,
		.tm_mon = month - 1,
		.tm_mday = field(text, 8, 2, 1, days_in_month(year, month)),
		.tm_hour = field(text, 11, 2, 0, 23),
		.tm_min = field(text, 14, 2, 0, 59),
		.tm_sec = field(text, 17, 2, 0, 59),
	};
	if (tm.tm_mday < 0 || tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0)
		return error_set(err, ERR_FORMAT, "'%.60s': no such time", text);
	if (!parse_offset(zone, &offset))
		return error_set(err, ERR_FORMAT, "'%.60s': wrong offset from UTC", text);
	*ret = (int64_t)timegm(&tm) - offset;
	return 0;
}

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ms", 1000000 },      { "us", 1000 },
	{ "\302\265s", 1000 },  { "ns", 1 },
	{ "s", 1000000000 },    { "m", 60000000000 },
	{ "h", 3600000000000 }, { "d", 86400000000000 },
};

/* The nanoseconds of the unit at *s, which is skipped; 0: not a unit. */
static int64_t unit(const char **s)
{
	size_t len = strcspn(*s, "0123456789.");

	for (size_t i = 0; i < N_ELEMENTS(units); i++)
		if (strlen(units[i].name) == len && !strncmp(*s, units[i].name, len)) {
			*s += len;
			return units[i].ns;
		}
	return 0;
}

/* "1.5" as digits 15 and scale 10. */
struct decimal {
	int64_t digits, scale;
};

static bool decimal(const char **s, struct decimal *ret)
{
	bool point = false, any = false;

	*ret = (struct decimal){ 0, 1 };
	for (; isdigit((unsigned char)**s) || (**s == '.' && !point); (*s)++) {
		if (**s == '.') {
			point = true;
			continue;
		}
		any = true;
		if (point && ret->scale >= 1000000000)
			continue;
		if (ret->digits > INT64_MAX / 100)
			return false;
		ret->digits = ret->digits * 10 + **s - '0';
		ret->scale *= point ? 10 : 1;
	}
	return any;
}

int duration_parse(int64_t *ret_ms, const char *text, struct error *err)
{
	const char *s = text + (*text == '-' || *text == '+');
	__int128 ns = 0;
	struct decimal d;
	int64_t per;

	if (!strcmp(s, "0")) {
		*ret_ms = 0;
		return 0;
	}
	do {
		if (!decimal(&s, &d))
			return error_set(err, ERR_INVALID,
					 "'%.60s' is not a duration like 90s or 1h30m",
					 text);
		per = unit(&s);
		if (!per)
			return error_set(err, ERR_INVALID,
					 "'%.60s' is not a duration like 90s or 1h30m: "
					 "units are d, h, m, s and ms",
					 text);
		ns += (__int128)d.digits * per / d.scale;
	} while (*s && ns / 1000000 < INT64_MAX);
	if (ns / 1000000 >= INT64_MAX / SECOND)
		return error_set(err, ERR_INVALID, "'%.60s' is too long a duration",
				 text);
	*ret_ms = (int64_t)(ns / 1000000) * (*text == '-' ? -1 : 1);
	return 0;
}

const char *duration_text(int64_t ms, char text[DURATION_TEXT_SIZE])
{
	const char *sign = ms < 0 ? "-" : "";
	uint64_t v = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
	char seconds[12];

	snprintf(seconds, sizeof(seconds), "%d.%03d", (int)(v / SECOND % 60),
		 (int)(v % SECOND));
	for (size_t n = strlen(seconds); seconds[n - 1] == '0' || seconds[n - 1] == '.';
	     n--) {
		bool point = seconds[n - 1] == '.';

		seconds[n - 1] = 0;
		if (point)
			break;
	}
	if (v && v < SECOND)
		snprintf(text, DURATION_TEXT_SIZE, "%s%dms", sign, (int)v);
	else if (v < MINUTE)
		snprintf(text, DURATION_TEXT_SIZE, "%s%ss", sign, seconds);
	else if (v < HOUR)
		snprintf(text, DURATION_TEXT_SIZE, "%s%dm%ss", sign, (int)(v / MINUTE),
			 seconds);
	else
		snprintf(text, DURATION_TEXT_SIZE, "%s%" PRIu64 "h%dm%ss", sign, v / HOUR,
			 (int)(v / MINUTE % 60), seconds);
	return text;
}

/*
 * Two units while the first is small, then one: the rows say until when (in
 * seconds), which units, and whether the second is still shown.
 */
static const struct {
	int64_t until, first, second;
	char first_name, second_name;
} ages[] = {
	{ 120, 1, 0, 's', 0 },
	{ 600, 60, 1, 'm', 's' },
	{ 3 * 3600, 60, 0, 'm', 0 },
	{ 8 * 3600, 3600, 60, 'h', 'm' },
	{ 48 * 3600, 3600, 0, 'h', 0 },
	{ 8 * 86400, 86400, 3600, 'd', 'h' },
	{ 2 * 365 * 86400, 86400, 0, 'd', 0 },
	{ 8 * 365 * 86400, 365 * 86400, 86400, 'y', 'd' },
	{ INT64_MAX, 365 * 86400, 0, 'y', 0 },
};

const char *duration_age(int64_t seconds, char text[DURATION_TEXT_SIZE])
{
	int64_t v = seconds < 0 ? 0 : seconds, rest;
	size_t i = 0;

	while (v >= ages[i].until && ages[i].until != INT64_MAX)
		i++;
	rest = ages[i].second ? v % ages[i].first / ages[i].second : 0;
	if (rest)
		snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 "%c%" PRId64 "%c",
			 v / ages[i].first, ages[i].first_name, rest,
			 ages[i].second_name);
	else
		snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 "%c", v / ages[i].first,
			 ages[i].first_name);
	return text;
}
