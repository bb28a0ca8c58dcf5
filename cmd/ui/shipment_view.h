/*
 * shipment_view.h - report how a workspace was packed, and upload it with progress.
 */
#ifndef CMD_SHIPMENT_VIEW_H
#define CMD_SHIPMENT_VIEW_H

#include "spec/shipment.h"

/* Print to stderr its size and what was excluded; nothing without a workspace. */
void shipment_tell(struct shipment *s);

/* Upload it to its URI, if it has one, unless the URI already has the archive. */
MUST_CHECK int shipment_upload(struct shipment *s, bool quiet, struct error *err);

#endif
