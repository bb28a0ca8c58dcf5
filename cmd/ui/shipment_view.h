/*
 * shipment_view.h - a workspace that is packed and uploaded, as its user sees it.
 */
#ifndef CMD_SHIPMENT_VIEW_H
#define CMD_SHIPMENT_VIEW_H

#include "spec/shipment.h"

/* To stderr: how large it is, and what was left out; nothing without a workspace. */
void shipment_tell(struct shipment *s);

/*
 * Upload it, with its progress, to the URI that was given, if one was; an archive that is
 * at that URI already is not sent again.
 */
MUST_CHECK int shipment_upload(struct shipment *s, bool quiet, struct error *err);

#endif
