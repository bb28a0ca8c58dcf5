/*
 * http_impl.h - the parts of the HTTP client shared by http*.c, the only users of
 * libcurl.
 */
#ifndef NET_HTTP_IMPL_H
#define NET_HTTP_IMPL_H

#include <curl/curl.h>
#include <pthread.h>

#include "base/arena.h"
#include "crypto/trust.h"
#include "net/http.h"
#include "net/proxy.h"

/*
 * How often a call checks for events that no descriptor reports; and if all are reported.
 */
enum { HTTP_POLL_MS = 1000, HTTP_POLL_IDLE_MS = 60 * 1000 };

struct slot {
	CURL *easy;
	CURLM *multi;
	struct slot *next;
	int64_t used_ms; /* when it was last used */
	/* Parts of the last URL, "https://h" and "h:443", and its proxy; NULL: none. */
	const char *origin, *host;
	struct proxy proxy;
	struct arena arena;
};

struct http_sessions {
	CURLSH *share; /* NULL: each slot has its own */
	pthread_mutex_t locks[CURL_LOCK_DATA_LAST];
};

struct http_client {
	char *ca_pem, *cert_pem, *key_pem, *server_name, *user_agent;
	char *ca_file, *ca_setting;
	char *ca_dirs;      /* SSL_CERT_DIR: directories, separated by ':'; or NULL */
	struct arena arena; /* owns the strings of the proxy */
	const struct proxy *proxy; /* for all servers; NULL: by the environment */
	bool all_proxy, insecure, http1, h2c, after_stop;
	size_t max_idle, receive_bytes;
	struct http_sessions *sessions;
	bool own_sessions;
	pthread_mutex_t lock; /* guards the following members */
	struct slot *idle;
	struct trust *trust; /* NULL: not loaded yet, or insecure */
};

struct call {
	struct http_client *client;
	const struct http_request *req;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct arena arena;
	const char *host;          /* "host:port", for messages */
	const struct proxy *proxy; /* the slot's */
	struct trust_check check;  /* of the last handshake */
	unsigned handshakes;
	struct http_response resp;
	size_t header_bytes;
	size_t sent;      /* bytes of req->read()'s body sent so far */
	int64_t heard_ms; /* when the server last sent bytes; 0: not yet */
	int64_t began_ms;
	struct error *err; /* filled when `failed` */
	bool failed;
	char why[CURL_ERROR_SIZE]; /* curl's message */
};

/* ---- http.c: connections ---- */

/* An idle slot or a new one; NULL: errno. */
struct slot *http_slot_take(struct http_client *client);
void http_slots_free(struct slot *s); /* the list; NULL is fine */
/* Run a prepared call to its end. The caller removes its handle from `multi`. */
CURLcode http_drive(struct call *c, CURLM *multi);

/* ---- http_trust.c ---- */

/* Load the client's trusted CAs, at its first https call. */
MUST_CHECK int call_load_trust(struct call *c);

/* ---- http_call.c: one call ---- */

void call_init(struct call *c, struct http_client *client, const struct http_request *req,
	       struct error *err);
/* Set all options of the slot's handle, which becomes c->easy. */
MUST_CHECK int call_prepare(struct call *c, struct slot *s);
/* True: the call must end for a reason unknown to curl (stop, cancel, idle_ms). */
bool call_must_end(struct call *c);
/* Finish a call: 0 with *ret, or -1 with the call's error. Resets the handle. */
MUST_CHECK int call_finish(struct call *c, CURLcode code, struct http_response *ret);
/* True: the last handshake is that with a TLS proxy, which precedes the server's. */
bool call_is_with_proxy(const struct call *c);
/* Fill the call's error, unless a callback has done so (http_fail.c). */
void call_fail(struct call *c, CURLcode code);
/* Instead of call_finish(): drop the result. */
void call_drop(struct call *c);

#endif
