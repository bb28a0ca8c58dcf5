/*
 * begun.h - uploads in parts that we have begun: .kftrainer/uploads.jsonl of the folder.
 *
 * A run that was killed is gone on with by the next one of the same folder, which finds here
 * which uploads are ours; those of others are left alone. Where nothing can be written, or
 * another process sends from the folder, nothing is remembered. Read back as the work of a
 * stranger: the server says which parts there are, and each is held against our bytes.
 */
#ifndef STORE_UPLOAD_LOG_H
#define STORE_UPLOAD_LOG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"

struct upload_log {
	struct arena arena;
	struct map ids; /* object -> id */
	int state, fd;  /* -1: nothing is remembered */
};

void upload_log_open(struct upload_log *b, const char *folder);
/* `delete`: no upload is unfinished. */
void upload_log_close(struct upload_log *b, bool delete);

/* `object`: "s3://bucket/key". NULL: there is none. */
const char *upload_log_find(const struct upload_log *b, const char *object);
void upload_log_add(struct upload_log *b, const char *object,
		    const char *id); /* any thread */

#endif
