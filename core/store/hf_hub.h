/*
 * hf_hub.h - requests to a Hugging Face hub: its address, the token, its errors.
 *
 * HF_ENDPOINT (https://huggingface.co). The token is the first of: ACCESS_TOKEN,
 * HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file HF_TOKEN_PATH, $HF_HOME/token,
 * $XDG_CACHE_HOME/huggingface/token or ~/.cache/huggingface/token. It is sent only to the
 * endpoint's own host, scheme and port; messages name its source.
 *
 * Follows huggingface_hub's utils/_http.py and utils/_auth.py for the meaning of statuses
 * and headers (X-Error-Code, X-Error-Message).
 */
#ifndef STORE_HF_HUB_H
#define STORE_HF_HUB_H

#include "store/hf_uri.h"
#include "store/scheme.h"

struct hf_hub {
	struct http_retrier *retrier;
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
	const char *next;          /* URL of the next page, or NULL */
};
void hf_page_release(struct hf_page *p);
#define cleanup_hf_page __attribute__((cleanup(hf_page_release)))

/*
 * GET a URL of the hub; a status other than 200 is an error that says what to do.
 * Redirects to another server are followed only without a token.
 */
MUST_CHECK int hf_hub_get(struct hf_page *ret, const struct hf_hub *hub,
			  const struct hf_repo *repo, const char *url, struct error *err);

/*
 * After a failed download, ask the hub (HEAD) whether it grants access. 0: it does, so
 * the host that it redirects to failed; -1: err has the hub's refusal.
 */
MUST_CHECK int hf_hub_check_access(const struct hf_hub *hub, const struct hf_repo *repo,
				   const char *url, struct error *err);

/*
 * The error for a status of the hub. `code`: X-Error-Code, or ""; `message`:
 * X-Error-Message or the body's "error", or "".
 */
int hf_hub_refused(const struct hf_hub *hub, const struct hf_repo *repo, int status,
		   const char *code, const char *message, struct error *err);

/* "model org/name", for messages. */
const char *hf_repo_shown(struct arena *arena, const struct hf_repo *repo);

/* The URL of its web page. */
const char *hf_repo_page(struct arena *arena, const struct hf_hub *hub,
			 const struct hf_repo *repo);

#endif
