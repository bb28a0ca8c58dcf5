/*
 * page.h - the list and the detail as HTML, readable without scripts.
 *
 * What they show is read by the code of `get`, `why` and `logs`.
 */
#ifndef UI_PAGE_H
#define UI_PAGE_H

#include "base/buf.h"
#include "kube/kube.h"

/* The last lines of each container, fewer of many: together about PAGE_LOG_ALL. */
enum { PAGE_LOG_LINES = 200, PAGE_LOG_ALL = 4000 };

/* ns NULL: of all namespaces. */
MUST_CHECK int page_list(struct buf *out, struct kube *k, const char *ns,
			 struct error *err);
MUST_CHECK int page_job(struct buf *out, struct kube *k, const char *ns, const char *name,
			struct error *err);
void page_error(struct buf *out, const struct error *err);
/*
 * Appends the page of the URL with the token, which goes on to the list. A redirect would
 * not do: behind a link of another site it is a request of that site, for which browsers
 * keep a SameSite=Strict cookie back.
 */
void page_enter(struct buf *out);

#endif
