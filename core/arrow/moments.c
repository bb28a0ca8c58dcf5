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
