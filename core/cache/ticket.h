/*
 * ticket.h - Flight tickets: rows as upstream encodes them for head, client and worker.
 *
 * Two numbers, the first and the last row, in bincode 2's standard form: each one byte up
 * to 250, else 251, 252 or 253 and 2, 4 or 8 bytes. No rows: the first is greater than
 * the last. Upstream's workers ignore the bytes after them. Ours append a view (view.h)
 * as JSON after TICKET_VIEW, if there is one, and the table's name after TICKET_TABLE.
 */
#ifndef CACHE_TICKET_H
#define CACHE_TICKET_H

#include <sys/uio.h>

#include "base/buf.h"
#include "cache/table.h"

enum { TICKET_MAX = 18 };
#define TICKET_VIEW  "\nkftrainer view "
#define TICKET_TABLE "\nkftrainer table "

struct ticket {
	struct rows rows;
	struct iovec view, table; /* iov_len 0: none */
};

size_t ticket_write(uint8_t to[TICKET_MAX], struct rows rows); /* without the rest */
void ticket_add(struct buf *out, const struct ticket *t);

/*
 * *ret borrows from the ticket's bytes. ERR_FORMAT. Without rows: { 0, 0 }. All rows from
 * 2^63 - 2 on count as one row.
 */
MUST_CHECK int ticket_read(struct ticket *ret, struct iovec bytes, struct error *err);

#endif
