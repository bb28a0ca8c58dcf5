/*
 * out.h - print documents, tables and colors.
 *
 * Output goes to stdout, through stdio; main.c checks at the end that all of it was
 * written.
 */
#ifndef CMD_OUT_H
#define CMD_OUT_H

#include "base/arena.h"
#include "base/json.h"
#include "spec/reporter.h"

enum out_format { OUT_TABLE, OUT_YAML, OUT_JSON, OUT_NAME };

/* The format that the word after -o names. */
enum out_format out_format(const char *word);

/* Prints a document as YAML or JSON. */
MUST_CHECK int out_doc(enum out_format format, const cJSON *doc, struct error *err);

/* Prints the line "trainjob.trainer.kubeflow.org/NAME", as kubectl's -o name. */
void out_name(const char *api_version, const char *kind, const char *name);

/* {apiVersion: v1, kind: List, items}. Frees the items with the list: the caller's. */
cJSON *out_list(cJSON *take_items);

/* Prints outcomes to stdout, "KIND NAMESPACE/NAME: created", and notes to stderr. */
struct outcomes out_outcomes(const char *cmd);

/* Rows with columns like kubectl's: as wide as needed, three spaces between. */
struct out_table {
	struct arena arena;
	const char **cells;
	size_t n, cap;
	size_t columns; /* set before the first row */
	size_t *width;  /* of each column, at least as printed before */
};

/* Adds a row, ends with NULL; empty and missing cells are shown as "-". Copies. */
void out_row(struct out_table *t, const char *const *cells);
#define OUT_ROW(t, ...) out_row((t), (const char *const[]){ __VA_ARGS__, NULL })
/* Prints the rows and drops them; rows added later have the same columns. */
void out_table(struct out_table *t);
void out_table_release(struct out_table *t);
#define cleanup_out_table __attribute__((cleanup(out_table_release)))

/* Is fd a terminal that can erase a line? Should it get colors, too (NO_COLOR)? */
bool out_terminal(int fd);
bool out_colour(int fd);

/* The size of stdout, if it is such a terminal; else 0. */
void out_terminal_size(int *ret_columns, int *ret_rows);

/*
 * Write the output of a command that runs elsewhere. ERR_STOPPED: the reader has gone
 * (EPIPE), or the disk is full.
 */
MUST_CHECK int out_bytes(void *ctx, int fd, const char *data, size_t len,
			 struct error *err);

/* "12.3 s" below a minute, "3m 05s" and "2h 07m" above. */
const char *out_duration(struct arena *arena, int64_t ms);

#endif
