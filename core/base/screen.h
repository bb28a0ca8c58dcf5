/*
 * screen.h - the lines that a terminal would show of what a program writes.
 *
 * Progress bars rewrite their line: a carriage return, a backspace or an erased line
 * replaces the text before it, and a cursor that goes up rewrites lines above. A line is
 * reported once it is finished: at its newline or, once a program has moved the cursor up,
 * when it is out of the cursor's reach. "\r\n" is a newline.
 *
 * What another process, or a print() of the same, writes behind a bar of tqdm is a line of
 * its own. The bar's last state follows at its newline, or where the output ends.
 *
 * Lines are without escape sequences, except those that set colors (SGR). Control
 * characters of the second set (U+0080 to U+009F) are spelled "\x9b". All other bytes pass.
 * Memory is limited to about twice `max` for any input. {0} with on_line and max is empty.
 */
#ifndef BASE_SCREEN_H
#define BASE_SCREEN_H

#include "base/arena.h"
#include "base/buf.h"

#define SCREEN_CUT " ... [line truncated]"

enum {
	SCREEN_ROWS = 16,     /* the cursor can go up to the 15 lines above */
	SCREEN_SEQUENCE = 64, /* bytes of a sequence; a longer one sets no colors */
	SCREEN_TAG = 48,
};

struct screen_row {
	struct buf text; /* after the tag */
	size_t tag;      /* the length of the tag */
	bool rewritten;  /* its text replaced other text */
	bool written;    /* false: only room for a cursor that goes up */
	bool cut;        /* its text is longer than the limit */
	bool returned;   /* a carriage return came before its text */
};

struct screen {
	/* A finished line, without its newline. */
	void (*on_line)(void *ctx, const char *line, size_t len);
	void *ctx;
	size_t max;       /* bytes of a line; the rest is dropped */
	const char *mark; /* appended to a line that is cut: SCREEN_CUT; NULL: nothing */

	struct screen_row rows[SCREEN_ROWS];
	size_t n, at;    /* the rows in use; the cursor's */
	size_t keep;     /* how many rows above the last are not reported yet */
	size_t straight; /* newlines at the bottom since the cursor went up last */
	size_t newest;   /* the row with the newest text */
	bool inside;     /* the cursor is not in the first column */
	bool suffixed;   /* bars have text of their own after what tqdm writes last */
	struct buf bar; /* the state of a bar behind which a line was written; or empty */
	char tag[SCREEN_TAG];
	size_t tag_len;

	unsigned char state; /* of the parser */
	char sequence[SCREEN_SEQUENCE], rune[4];
	size_t n_sequence, n_rune;
};

void screen_write(struct screen *s, const char *data, size_t len);

/*
 * Announce the bytes that come next: a line to which the cursor goes up within them is not
 * finished at its newline. For a caller that writes them in pieces.
 */
void screen_look_ahead(struct screen *s, const char *data, size_t len);

/* Lines that begin from now on are reported with this text before them; "" for none. */
void screen_tag(struct screen *s, const char *tag, size_t len);

/*
 * The unfinished line with the newest text, with its tag, or NULL. `*ret_bar`: its text
 * replaced other text. Valid until the next call.
 */
const char *screen_state(const struct screen *s, size_t *ret_len, bool *ret_bar);

/* The program has ended: all lines are finished. Frees the memory; s is empty again. */
void screen_end(struct screen *s);
/* Likewise, and reports nothing. */
void screen_release(struct screen *s);

/*
 * A text as screen.h shows it, without colors: for messages and reports. Lines are
 * separated by newlines.
 */
const char *screen_text(struct arena *arena, const char *text);

/* The length of the sequence at p that sets colors ("\033[1m"); 0: there is none. */
size_t screen_colour(const char *p, size_t len);

/* The start of a line without colors, in `room`; the line itself if it has none. */
const char *screen_uncoloured(const char *line, size_t *len, char *room, size_t size);

#endif
