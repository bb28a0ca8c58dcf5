/* Prints dates and times: moments.h. */
#include "arrow/moments.h"

#include <string.h>

enum { DAY = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 };

static const struct {
	int64_t per_second;
	int digits;
} units[] = { [ARROW_MS] = { 1000, 3 },
	      [ARROW_US] = { 1000000, 6 },
	      [ARROW_NS] = { 1000000000, 9 } };

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Gregorian, from days since 1970: an era has 400 years and begins on March 1. */
static void add_date(struct buf *out, int64_t days)
{
	int64_t since = days + EPOCH_DAYS, era = floor_div(since, ERA_DAYS), year;
	int64_t day = since - era * ERA_DAYS;
	int64_t of_era = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int64_t of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
	int64_t month = (5 * of_year + 2) / 153;

	year = of_era + era * 400 + (month >= 10);
	buf_printf(out, "%s%04lld-%02d-%02d", year < 0 ? "-" : "",
		   (long long)(year < 0 ? -year : year),
		   (int)(month < 10 ? month + 3 : month - 9),
		   (int)(of_year - (153 * month + 2) / 5 + 1));
}

static void add_time(struct buf *out, int64_t seconds, int64_t fraction, int unit)
{
	buf_printf(out, "%02d:%02d:%02d.%0*lld", (int)(seconds / 3600),
		   (int)(seconds / 60 % 60), (int)(seconds % 60), units[unit].digits,
		   (long long)fraction);
}

static void add_timestamp(struct buf *out, const struct field *f, int64_t v)
{
	int64_t per = units[f->unit].per_second, seconds = floor_div(v, per);
	int64_t days = floor_div(seconds, DAY);

	add_date(out, days);
	buf_adds(out, "T");
	add_time(out, seconds - days * DAY, v - seconds * per, f->unit);
	buf_adds(out, f->utc ? "Z" : "");
}

void moment_text(struct buf *out, const struct field *f, const void *p)
{
	int32_t narrow = 0;
	int64_t v = 0;

	memcpy(f->width == 4 ? (void *)&narrow : (void *)&v, p, f->width == 4 ? 4 : 8);
	if (f->width == 4)
		v = narrow;
	if (f->kind == ARROW_DATE)
		add_date(out, v);
	else if (f->kind == ARROW_TIMESTAMP)
		add_timestamp(out, f, v);
	else
		add_time(out, floor_div(v, units[f->unit].per_second),
			 v - floor_div(v, units[f->unit].per_second) *
					 units[f->unit].per_second,
			 f->unit);
}

/* ---- parsing ---- */

/* Parse exactly `digits` digits. */
static bool take_digits(const char **s, int digits, int64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, ++*s) {
		if (**s < '0' || **s > '9')
			return false;
		*ret = *ret * 10 + (**s - '0');
	}
	return true;
}

static bool take_char(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

static bool is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool take_date(const char **s, int64_t *ret_days)
{
	static const int8_t lengths[] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
	};
	int64_t year, month, day, shifted, era, of_era;

	if (!take_digits(s, 4, &year) || !take_char(s, '-') ||
	    !take_digits(s, 2, &month) || !take_char(s, '-') || !take_digits(s, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 ||
	    day > lengths[month - 1] + (month == 2 && is_leap(year)))
		return false;
	shifted = year - (month <= 2);
	era = floor_div(shifted, 400);
	of_era = shifted - era * 400;
	*ret_days = era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
		    (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1 -
		    EPOCH_DAYS;
	return true;
}

/* Parse a time of day, in the field's unit since midnight. */
static bool take_time(const char **s, int unit, int64_t *ret)
{
	int64_t hour, minute, second, value = units[unit].per_second, fraction = 0;

	if (!take_digits(s, 2, &hour) || !take_char(s, ':') ||
	    !take_digits(s, 2, &minute) || !take_char(s, ':') ||
	    !take_digits(s, 2, &second) || hour > 23 || minute > 59 || second > 59)
		return false;
	if (take_char(s, '.'))
		while (**s >= '0' && **s <= '9') {
			value /= 10;
			if (!value && **s != '0')
				return false;
			fraction += (*(*s)++ - '0') * value;
		}
	*ret = (hour * 3600 + minute * 60 + second) * units[unit].per_second + fraction;
	return true;
}

/* Parse the zone of a UTC timestamp: Z, +HH:MM or -HH:MM; local times have none. */
static bool take_zone(const char **s, int64_t *ret_seconds)
{
	int64_t hour, minute;
	bool minus = **s == '-';

	*ret_seconds = 0;
	if (take_char(s, 'Z'))
		return true;
	if ((!minus && **s != '+') || !*++*s || !take_digits(s, 2, &hour) ||
	    !take_char(s, ':') || !take_digits(s, 2, &minute) || hour > 23 || minute > 59)
		return false;
	*ret_seconds = (minus ? -1 : 1) * (hour * 3600 + minute * 60);
	return true;
}

bool moment_parse(int64_t *ret, const struct field *f, const char *s)
{
	int64_t days, time, zone = 0;

	if (f->kind == ARROW_DATE)
		return take_date(&s, ret) && !*s;
	if (f->kind != ARROW_TIMESTAMP)
		return take_time(&s, f->unit, ret) && !*s;
	if (!take_date(&s, &days) || (!take_char(&s, 'T') && !take_char(&s, ' ')) ||
	    !take_time(&s, f->unit, &time) || (f->utc && !take_zone(&s, &zone)) || *s)
		return false;
	return !__builtin_mul_overflow(days * DAY - zone, units[f->unit].per_second,
				       &days) &&
	       !__builtin_add_overflow(days, time, ret);
}
