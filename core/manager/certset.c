/* certset.c - read, check and renew the certificate's Secret (manager/certset.h). */
#include "manager/certset.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define CA_NAME         "kubeflow-trainer-ca"
#define CA_ORGANIZATION "kubeflow-trainer"
#define PEM_END         "-----END CERTIFICATE-----"

enum { DAY = 24 * 3600, CA_DAYS = 3650, SERVER_DAYS = 365, MAX_PEM = 256 * 1024 };

void cert_set_release(struct cert_set *set)
{
	x509_pair_release(&set->ca);
	x509_pair_release(&set->server);
}

static char *read_member(const cJSON *secret, const char *key)
{
	struct buf pem = { .max = MAX_PEM };
	const char *text = json_str(secret, "data", key);
	char *ret = NULL;

	if (text && *text && !base64_decode(&pem, text, strlen(text), IGNORED) &&
	    !buf_check(&pem, key, IGNORED) && !memchr(pem.data, 0, pem.len))
		ret = xstrdup((const char *)pem.data);
	if (pem.data)
		explicit_bzero(pem.data, pem.len);
	buf_release(&pem);
	return ret;
}

void cert_set_read(struct cert_set *ret, const cJSON *secret)
{
	*ret = (struct cert_set){
		.ca = { read_member(secret, "ca.crt"), read_member(secret, "ca.key") },
		.server = { read_member(secret, "tls.crt"),
			    read_member(secret, "tls.key") },
	};
}

static void write_member(cJSON *secret, const char *key, const char *pem)
{
	struct buf text = { .max = 2 * MAX_PEM };

	base64_encode(&text, pem, strlen(pem));
	json_put_str(secret, (const char *)text.data, "data", key);
	explicit_bzero(text.data, text.len);
	buf_release(&text);
}

void cert_set_write(const struct cert_set *set, cJSON *secret)
{
	write_member(secret, "ca.crt", set->ca.cert_pem);
	write_member(secret, "ca.key", set->ca.key_pem);
	write_member(secret, "tls.crt", set->server.cert_pem);
	write_member(secret, "tls.key", set->server.key_pem);
}

/* Checks both times: a CA that is not valid yet (the clock was set back) fails, too. */
static int check_ca(const struct x509_pair *ca, int64_t now, struct error *why)
{
	if (!ca->cert_pem)
		return error_set(why, ERR_INVALID, "no CA");
	if (x509_check_ca(ca, now, why) || x509_check_ca(ca, now + CERT_LOOKAHEAD, why))
		return error_wrap(why, "CA");
	return 0;
}

static bool is_served(const struct cert_set *set)
{
	const struct cert_set *served = set->served;

	return served && str_eq(set->ca.cert_pem, served->ca.cert_pem) &&
	       str_eq(set->server.cert_pem, served->server.cert_pem) &&
	       str_eq(set->server.key_pem, served->server.key_pem);
}

static int check_server(const struct cert_set *set, const char *dns, int64_t now,
			struct error *why)
{
	const struct x509_pair *s = &set->server;
	const char *ca = set->ca.cert_pem;

	if (!s->cert_pem || !s->key_pem)
		return error_set(why, ERR_INVALID, "no certificate");
	if ((!is_served(set) && x509_check_server(s, ca, dns, now, why)) ||
	    x509_check_times(s->cert_pem, ca, now, now + CERT_LOOKAHEAD, why))
		return error_wrap(why, "certificate");
	return 0;
}

/* The first certificate of the CA to be replaced, if that is still valid; or NULL. */
static char *old_ca(const struct cert_set *set, int64_t now)
{
	const struct cert_set *of = set->ca.cert_pem || !set->served ? set : set->served;
	char *pem = of->ca.cert_pem;
	const struct x509_pair cert = { .cert_pem = pem };
	char *end, *ret;

	if (!pem || x509_check_ca(&cert, now, IGNORED))
		return NULL;
	ret = xstrdup(pem);
	end = strstr(ret, PEM_END);
	if (end)
		end[strlen(PEM_END)] = '\0';
	return ret;
}

static int new_ca(struct cert_set *set, int64_t now, struct error *err)
{
	cleanup_free char *before = old_ca(set, now);
	cleanup_x509_pair struct x509_pair made = { 0 };
	char *both;

	if (x509_new_ca(&made, CA_NAME, CA_ORGANIZATION, now,
			now + CA_DAYS * (int64_t)DAY, err))
		return -1;
	if (before) {
		if (asprintf(&both, "%s%s\n", made.cert_pem, before) < 0)
			abort();
		free(made.cert_pem);
		made.cert_pem = both;
	}
	x509_pair_release(&set->ca);
	set->ca = made;
	made = (struct x509_pair){ 0 };
	return 0;
}

static int new_server(struct cert_set *set, const char *dns, int64_t now,
		      struct error *err)
{
	struct x509_pair made = { 0 };

	if (x509_new_server(&made, &set->ca, dns, now, now + SERVER_DAYS * (int64_t)DAY,
			    err))
		return -1;
	x509_pair_release(&set->server);
	set->server = made;
	return 0;
}

/*
 * The CA's key is checked only when it has to sign: a valid certificate is served without
 * a valid key of the CA.
 */
int cert_set_renew(struct cert_set *set, const char *dns_name, int64_t now,
		   enum cert_change *ret, struct error *why, struct error *err)
{
	const struct x509_pair ca = { .cert_pem = set->ca.cert_pem };
	bool is_new;

	if (!check_ca(&ca, now, why) && !check_server(set, dns_name, now, why)) {
		*ret = CERT_KEPT;
		return 0;
	}
	if (!set->ca.key_pem)
		is_new = true;
	else
		is_new = check_ca(&set->ca, now, IGNORED) != 0;
	if (is_new && new_ca(set, now, err))
		return -1;
	if (new_server(set, dns_name, now, err))
		return -1;
	*ret = is_new ? CERT_NEW_CA : CERT_NEW_SERVER;
	return 0;
}
