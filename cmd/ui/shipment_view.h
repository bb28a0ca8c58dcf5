/*
 * shipment_view.h - report how a workspace was packed, and upload it with progress.
 */
#ifndef CMD_SHIPMENT_VIEW_H
#define CMD_SHIPMENT_VIEW_H

#include "spec/shipment.h"

/* Prints the archive's size and excluded files to stderr; nothing without a workspace. */
void shipment_tell(struct shipment *s);

/* Uploads the archive to its URI, if it has one, unless it already exists there. */
MUST_CHECK int shipment_upload(struct shipment *s, bool quiet, struct error *err);

#endif
