/*
 * hf_hub.h - the hub as a client sees it: where it is, who asks, what it answers.
 *
 * HF_ENDPOINT (https://huggingface.co). The token is the first of: ACCESS_TOKEN,
 * HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file HF_TOKEN_PATH, $HF_HOME/token,
 * $XDG_CACHE_HOME/huggingface/token or ~/.cache/huggingface/token. It is sent to the
 * endpoint's own host, scheme and port, and nowhere else; messages name where it came
 * from.
 *
 * Follows huggingface_hub's utils/_http.py and utils/_auth.py as to which answers and
 * headers (X-Error-Code, X-Error-Message) mean what.
 */
#ifndef STORE_HF_HUB_H
#define STORE_HF_HUB_H

#include "store/hf_uri.h"
#include "store/scheme.h"

struct hf_hub {
	struct http_retrier *asker;
	const char *endpoint;   /* without '/' at the end */
	const char *host;       /* of it, for messages */
	const char *token_from; /* "HF_TOKEN", "the file ..."; NULL: no token */
	const char *headers[2]; /* Authorization; ends with NULL */
};

/* Strings live in the arena. ERR_INVALID: HF_ENDPOINT, the token, HF_HUB_OFFLINE. */
MUST_CHECK int hf_hub_open(struct hf_hub *ret, struct arena *arena,
			   const struct store_conf *conf, struct error *err);

struct hf_page {
	struct arena arena;
	struct http_response http; /* status 200 */
	const char *next;          /* where the next page is, or NULL */
};
void hf_page_release(struct hf_page *p);
#define cleanup_hf_page __attribute__((cleanup(hf_page_release)))

/*
 * GET of a URL of the hub; answers but 200 are errors, with what to do. Redirects are
 * followed on the hub itself only.
 */
MUST_CHECK int hf_hub_get(struct hf_page *ret, const struct hf_hub *hub,
			  const struct hf_repo *repo, const char *url, struct error *err);

/*
 * Whose fault it was that a file could not be had: asks the hub (HEAD) for it. 0: the hub
 * lets have it, so it was the host that it redirects to; -1: err says what the hub says.
 */
MUST_CHECK int hf_hub_admits(const struct hf_hub *hub, const struct hf_repo *repo,
			     const char *url, struct error *err);

/*
 * What a status of the hub means for this repository. `code`: X-Error-Code, "" where
 * that is not known; `message`: X-Error-Message or the body's "error", or "".
 */
int hf_hub_refused(const struct hf_hub *hub, const struct hf_repo *repo, int status,
		   const char *code, const char *message, struct error *err);

/* "model org/name", for people. */
const char *hf_repo_shown(struct arena *arena, const struct hf_repo *repo);

/* Where a person finds it: "https://huggingface.co/datasets/org/name". */
const char *hf_repo_page(struct arena *arena, const struct hf_hub *hub,
			 const struct hf_repo *repo);

#endif
