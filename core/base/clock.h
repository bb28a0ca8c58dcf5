/*
 * clock.h - time: two clocks, timestamps, durations.
 *
 * Durations are milliseconds of the monotonic clock. Points in time are seconds
 * since 1970 in UTC and are written as metav1.Time does: RFC 3339, whole
 * seconds, "2026-01-31T23:59:59Z". Nothing here knows local time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/error.h"

int64_t clock_ms(void);     /* monotonic: only differences have a meaning */
int64_t clock_up_ms(void);  /* the same, and it goes on while the machine sleeps */
double clock_seconds(void); /* the same clock, with fractions: for histograms */
int64_t clock_now(void);    /* seconds since 1970 */
void clock_sleep_ms(int64_t ms);

/* 0 to sides - 1 by chance, to spread retries in time: not for secrets. */
int64_t clock_dice(int64_t sides);

/* In ms, cut to a thousand years either way: it may be added to any time. */
int64_t clock_seconds_ms(int64_t seconds);

enum { TIME_TEXT_SIZE = 32, DURATION_TEXT_SIZE = 48 };

/* Years 0 to 9999; anything beyond is cut to that. Returns text. */
const char *time_text(int64_t seconds, char text[TIME_TEXT_SIZE]);
/* metav1.MicroTime: "2001-09-09T01:46:40.000001Z". Beyond a second is cut to that. */
const char *time_micro_text(int64_t seconds, int64_t us, char text[TIME_TEXT_SIZE]);
const char *time_micro_now(char text[TIME_TEXT_SIZE]); /* the time of day, so */

/* RFC 3339 with any offset; a fraction of a second is read and dropped. */
MUST_CHECK int time_parse(int64_t *ret, const char *text, struct error *err);

/*
 * As Go's time.ParseDuration: "90s", "1h30m", "1.5h", "250ms", "-5s", "0"; units
 * h m s ms us ns, and d for 24 hours. Below a millisecond is cut off.
 */
MUST_CHECK int duration_parse(int64_t *ret_ms, const char *text, struct error *err);

/* As Go prints one: "1h30m0s", "1.5s", "250ms", "0s". Returns text. */
const char *duration_text(int64_t ms, char text[DURATION_TEXT_SIZE]);

/* As kubectl prints an age (duration.HumanDuration): "45s", "3m20s", "5h", "2d3h". */
const char *duration_age(int64_t seconds, char text[DURATION_TEXT_SIZE]);

#endif
