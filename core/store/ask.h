/*
 * ask.h - who asks: the client for a place, and what a scheme asks for itself, beside
 * the files: lists, tokens, heads.
 */
#ifndef STORE_ASK_H
#define STORE_ASK_H

#include "store/store.h"

/*
 * A client for the place of conf->uri, of which only env and ctx are looked at beside:
 * HTTP/1.1, and whom its own programs trust: s3:// AWS_CA_BUNDLE, or the
 * profile's ca_bundle, where SSL_CERT_FILE is not set. `like` has all else.
 */
MUST_CHECK int store_http_new(struct http_client **ret, const struct store_conf *conf,
			      const struct http_conf *like, struct error *err);

/* Who asks for a scheme: its client, how often, and whom it tells; for many threads. */
struct store_asker;
struct store_asker *store_asker_new(struct arena *arena, const struct store_conf *conf);

/*
 * As http_do(), for calls of a scheme's own (lists, tokens): Retry-After, 429, 5xx
 * and errors of the network are met by asking again, conf->tries times, with growing
 * pauses; long ones are told. Any other status is the caller's to judge; redirects too.
 * No req->on_data. `what` is for messages: "listing s3://bucket/prefix".
 * ERR_BUSY: in vain, as often as that.
 */
MUST_CHECK int store_ask(struct store_asker *asker, const char *what,
			 const struct http_request *req, struct http_response *ret,
			 struct error *err);

/* A question that is not as simple. */
struct store_question {
	const char *what;
	const struct http_request *req;
	/* Before each try: what has to be made anew of it (a signature has its time). */
	int (*prepare)(void *ctx, struct arena *arena, struct http_request *req,
		       struct error *err);
	/*
	 * Asked twice is not as asked once: before it is asked again, was it done, though
	 * the answer got lost? Then *ret is an answer of status 0. NULL: it is idempotent.
	 */
	int (*is_done)(void *ctx, bool *ret, struct error *err);
	void *ctx;
};
MUST_CHECK int store_ask_question(struct store_asker *asker,
				  const struct store_question *q,
				  struct http_response *ret, struct error *err);

#endif
