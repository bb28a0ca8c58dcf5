/*
 * workspace_view.h - report how a workspace was packed, and upload it with progress.
 */
#ifndef CMD_WORKSPACE_VIEW_H
#define CMD_WORKSPACE_VIEW_H

#include "spec/workspace_pack.h"

/* Prints the archive's size and excluded files to stderr; nothing without a workspace. */
void workspace_pack_report(struct workspace_pack *s);

/* Uploads the archive to its URI, if it has one, unless it already exists there. */
MUST_CHECK int workspace_pack_upload(struct workspace_pack *s, bool quiet,
				     struct error *err);

#endif
