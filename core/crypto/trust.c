/* trust.c - builds and verifies chains of certificates (crypto/trust.h). */
#include "crypto/trust.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <mbedtls/asn1.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/cert.h"
#include "crypto/crypto.h"

enum {
	MAX_PATH = 16,
	MAX_SIGNATURES = 100,
	MAX_WORK = 8 * 1024 * 1024, /* bytes of constraints, counted per name */
	MIN_RSA_BITS = 1024,
	MAX_EXPONENT_BITS = 31, /* as in Go; a large one costs seconds */
	SHOWN_NAMES = 5,
};

struct trust {
	mbedtls_x509_crt pool;
	struct cert_count count;
};

int trust_new(struct trust **ret, const char *pem, struct error *err)
{
	struct trust *t;

	if (crypto_start(err))
		return -1;
	t = xcalloc(1, sizeof(*t));
	mbedtls_x509_crt_init(&t->pool);
	cert_read_pem(&t->pool, pem, &t->count);
	if (t->count.used) {
		*ret = t;
		return 0;
	}
	error_set(err, ERR_FORMAT, "%s",
		  t->count.skipped ? t->count.why : "contains no certificate in PEM");
	trust_free(t);
	return -1;
}

void trust_free(struct trust *t)
{
	if (!t)
		return;
	mbedtls_x509_crt_free(&t->pool);
	free(t);
}

/* A path from the server's certificate upwards. */
struct search {
	struct trust_check
		*check; /* its `why`: the first obstacle on the way to the pool */
	const mbedtls_x509_crt *path[MAX_PATH];
	size_t n;
	unsigned signatures;
	size_t work;
};

static int fail(struct search *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int fail(struct search *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!*s->check->why)
		vsnprintf(s->check->why, TRUST_WHY, fmt, ap);
	va_end(ap);
	return -1;
}

static void shown_name(char ret[CERT_WHY], const mbedtls_x509_name *name)
{
	cleanup_arena struct arena arena = { 0 };
	char text[CERT_WHY] = "";

	if (mbedtls_x509_dn_gets(text, sizeof(text), name) < 0)
		snprintf(text, sizeof(text), "a long name");
	snprintf(ret, CERT_WHY, "%s", str_visible(&arena, text, false));
}

static bool equal(const mbedtls_x509_buf *a, const mbedtls_x509_buf *b)
{
	return a->len == b->len && a->len && !memcmp(a->p, b->p, a->len);
}

/* ---- signatures ----------------------------------------------------------------- */

static bool has_small_exponent(const mbedtls_pk_context *key)
{
	mbedtls_mpi e;
	bool ret;

	mbedtls_mpi_init(&e);
	ret = !mbedtls_rsa_export(mbedtls_pk_rsa(*key), NULL, NULL, NULL, NULL, &e) &&
	      mbedtls_mpi_bitlen(&e) <= MAX_EXPONENT_BITS;
	mbedtls_mpi_free(&e);
	return ret;
}

static bool is_key_usable(const mbedtls_pk_context *key)
{
	mbedtls_ecp_group_id group;

	if (mbedtls_pk_get_type(key) == MBEDTLS_PK_RSA)
		return mbedtls_pk_get_bitlen(key) >= MIN_RSA_BITS &&
		       has_small_exponent(key);
	if (mbedtls_pk_get_type(key) != MBEDTLS_PK_ECKEY)
		return false;
	group = mbedtls_ecp_keypair_get_group_id(mbedtls_pk_ec(*key));
	return group == MBEDTLS_ECP_DP_SECP256R1 || group == MBEDTLS_ECP_DP_SECP384R1 ||
	       group == MBEDTLS_ECP_DP_SECP521R1;
}

static bool is_signed_by(const mbedtls_x509_crt *child, const mbedtls_x509_crt *parent)
{
	mbedtls_md_type_t md = child->MBEDTLS_PRIVATE(sig_md);
	const mbedtls_x509_buf *sig = &child->MBEDTLS_PRIVATE(sig);
	const mbedtls_md_info_t *info = mbedtls_md_info_from_type(md);
	unsigned char hash[MBEDTLS_MD_MAX_SIZE];

	return info && !mbedtls_md(info, child->tbs.p, child->tbs.len, hash) &&
	       !mbedtls_pk_verify_ext(child->MBEDTLS_PRIVATE(sig_pk),
				      child->MBEDTLS_PRIVATE(sig_opts),
				      (mbedtls_pk_context *)&parent->pk, md, hash,
				      mbedtls_md_get_size(info), sig->p, sig->len);
}

/* Verify a signature as Go's CheckSignatureFrom(). */
static int check_signature(struct search *s, const mbedtls_x509_crt *child,
			   const mbedtls_x509_crt *parent, const char *name)
{
	bool limited =
		mbedtls_x509_crt_has_ext_type(parent, MBEDTLS_X509_EXT_BASIC_CONSTRAINTS);
	mbedtls_md_type_t md = child->MBEDTLS_PRIVATE(sig_md);

	if (limited ? mbedtls_x509_crt_get_ca_istrue(parent) != 1 : parent->version == 3)
		return fail(s, "%s, which signed its certificate, is not a CA", name);
	if (mbedtls_x509_crt_check_key_usage(parent, MBEDTLS_X509_KU_KEY_CERT_SIGN))
		return fail(s, "%s, which signed its certificate, may not sign any",
			    name);
	if (md == MBEDTLS_MD_SHA1 || md == MBEDTLS_MD_MD5)
		return fail(s, "its certificate is signed with %s, which is not secure",
			    md == MBEDTLS_MD_MD5 ? "MD5" : "SHA-1");
	if (!is_key_usable(&parent->pk))
		return fail(s,
			    "%s, which signed its certificate, has a key that is not "
			    "supported (supported: %s)",
			    name, CERT_SUPPORTED);
	if (is_signed_by(child, parent))
		return 0;
	s->check->unknown_ca |= !*s->check->why;
	return fail(s, "%s, with another key than the trusted one", name);
}

/* ---- name constraints ----------------------------------------------------------- */

enum { NAME_DNS = 2, NAME_IP = 7 };
#define SEQUENCE   (MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)
#define EXPLICIT   (MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_ASN1_CONSTRUCTED)
#define TYPE_OF(b) ((b)->tag & MBEDTLS_ASN1_TAG_VALUE_MASK)

/* "b.c" is within "c" and "b.c"; within ".c", but not within ".b.c". */
static bool is_in_domain(const mbedtls_x509_buf *name, const mbedtls_x509_buf *domain)
{
	const char *tail = (const char *)domain->p, *p = (const char *)name->p;
	size_t len = domain->len;
	bool below = len && *tail == '.';

	tail += below;
	len -= below;
	if (!len)
		return true;
	if (name->len < len || strncasecmp(p + name->len - len, tail, len) != 0)
		return false;
	return name->len == len ? !below : p[name->len - len - 1] == '.';
}

/* True: the wildcard "*.c" matches names that are within "b.c". */
static bool is_wildcard_above(const mbedtls_x509_buf *name,
			      const mbedtls_x509_buf *domain)
{
	const unsigned char *dot = memchr(domain->p, '.', domain->len);
	mbedtls_x509_buf tail, rest;

	if (name->len < 2 || memcmp(name->p, "*.", 2) != 0 || !dot)
		return false;
	tail = (mbedtls_x509_buf){ .p = name->p + 2, .len = name->len - 2 };
	rest = (mbedtls_x509_buf){ .p = (unsigned char *)dot + 1,
				   .len = domain->len - (size_t)(dot + 1 - domain->p) };
	return tail.len == rest.len && is_in_domain(&tail, &rest);
}

static bool is_in_network(const mbedtls_x509_buf *ip, const mbedtls_x509_buf *network)
{
	if (network->len != 2 * ip->len)
		return false;
	for (size_t i = 0; i < ip->len; i++)
		if ((ip->p[i] & network->p[ip->len + i]) != network->p[i])
			return false;
	return true;
}

/* Search subtrees. *ret_any: one has the name's type; *ret_match: one matches. */
static int match_subtrees(const mbedtls_x509_buf *name, bool excluded, unsigned char *p,
			  const unsigned char *end, bool *ret_any, bool *ret_match)
{
	size_t len;

	while (p < end) {
		mbedtls_x509_buf base;
		const unsigned char *next;

		if (mbedtls_asn1_get_tag(&p, end, &len, SEQUENCE))
			return -1;
		next = p + len;
		if (p == next)
			return -1;
		base.tag = *p;
		if (mbedtls_asn1_get_tag(&p, next, &base.len, base.tag))
			return -1;
		base.p = p;
		p = (unsigned char *)next;
		if (TYPE_OF(&base) != TYPE_OF(name))
			continue;
		*ret_any = true;
		if (TYPE_OF(name) == NAME_DNS)
			*ret_match |= is_in_domain(name, &base) ||
				      (excluded && is_wildcard_above(name, &base));
		else if (TYPE_OF(name) == NAME_IP)
			*ret_match |= is_in_network(name, &base);
	}
	return 0;
}

/* True for the types of names that Go checks: email, DNS, URI and IP. */
static bool is_checked(const mbedtls_x509_buf *name)
{
	return TYPE_OF(name) == 1 || TYPE_OF(name) == NAME_DNS || TYPE_OF(name) == 6 ||
	       TYPE_OF(name) == NAME_IP;
}

static bool is_permitted(const mbedtls_x509_buf *name, const struct cert_extensions *e)
{
	unsigned char *p = (unsigned char *)e->constraints;
	const unsigned char *end = p + e->constraints_len;
	bool known = TYPE_OF(name) == NAME_DNS || TYPE_OF(name) == NAME_IP;
	size_t len;

	if (mbedtls_asn1_get_tag(&p, end, &len, SEQUENCE) || p + len != end)
		return false;
	for (int list = 0; list < 2; list++) { /* permitted, excluded */
		bool any = false, match = false;

		if (p == end || *p != (EXPLICIT | list))
			continue;
		if (mbedtls_asn1_get_tag(&p, end, &len, EXPLICIT | list) ||
		    match_subtrees(name, list == 1, p, p + len, &any, &match))
			return false;
		p += len;
		if (any && (!known || match == (list == 1)))
			return false;
	}
	return p == end;
}

/* Check that all names below a CA are within its constraints. */
static int check_constraints(struct search *s, const struct cert_extensions *e,
			     const char *name)
{
	for (size_t i = 0; e->constraints && i < s->n; i++) {
		const mbedtls_x509_crt *crt = s->path[i];
		const mbedtls_x509_sequence *san = &crt->subject_alt_names;

		if (!mbedtls_x509_crt_has_ext_type(crt,
						   MBEDTLS_X509_EXT_SUBJECT_ALT_NAME))
			continue;
		for (; san && san->buf.p; san = san->next) {
			s->work += e->constraints_len;
			if (s->work > MAX_WORK)
				return fail(s, "its chain has too many name constraints");
			if (is_checked(&san->buf) && !is_permitted(&san->buf, e))
				return fail(s,
					    "its certificate has a name outside the name "
					    "constraints of %s",
					    name);
		}
	}
	return 0;
}

/* ---- chains --------------------------------------------------------------------- */

static int check_time(struct search *s, const mbedtls_x509_crt *crt, const char *what)
{
	if (mbedtls_x509_time_is_past(&crt->valid_to))
		return fail(s, "%s has expired, or this machine's clock is wrong", what);
	if (mbedtls_x509_time_is_future(&crt->valid_from))
		return fail(s, "%s is not valid yet, or this machine's clock is wrong",
			    what);
	return 0;
}

static int check_extensions(struct search *s, const struct cert_extensions *e,
			    const char *what)
{
	if (!*e->unknown)
		return 0;
	return fail(s, "%s has a critical extension that is not supported: %s", what,
		    e->unknown);
}

/* Check a CA above the path, as Go's isValid(). */
static int check_ca(struct search *s, const mbedtls_x509_crt *ca, bool is_root,
		    const char *name)
{
	int most = ca->MBEDTLS_PRIVATE(max_pathlen); /* pathLenConstraint + 1; 0: none */
	struct cert_extensions e;
	char what[CERT_WHY + 8];

	snprintf(what, sizeof(what), "its CA %s", name);
	cert_extensions(&e, ca);
	if (check_extensions(s, &e, what) || check_time(s, ca, what) ||
	    check_constraints(s, &e, name))
		return -1;
	if (!is_root && mbedtls_x509_crt_get_ca_istrue(ca) != 1)
		return fail(s, "%s, which signed its certificate, is not a CA", name);
	if (most > 0 && s->n - 1 > (size_t)most - 1)
		return fail(s, "its chain is longer than %s allows", name);
	return 0;
}

/* Check that no certificate of the path has an extended key usage without serverAuth. */
static int check_usage(struct search *s)
{
	static const char server[] = MBEDTLS_OID_SERVER_AUTH;

	for (size_t i = 0; i < s->n; i++)
		if (mbedtls_x509_crt_check_extended_key_usage(s->path[i], server,
							      sizeof(server) - 1))
			return fail(s, "%s is not for servers (extended key usage)",
				    i ? "its CA" : "its certificate");
	return 0;
}

static bool is_on_path(const struct search *s, const mbedtls_x509_crt *crt)
{
	for (size_t i = 0; i < s->n; i++)
		if (equal(&s->path[i]->raw, &crt->raw) ||
		    (equal(&s->path[i]->subject_raw, &crt->subject_raw) &&
		     equal(&s->path[i]->pk_raw, &crt->pk_raw)))
			return true;
	return false;
}

static bool build_chain(struct search *s);

/* Try to extend the path by this CA. True: it leads to the pool. */
static bool extend_chain(struct search *s, const mbedtls_x509_crt *ca, bool is_root)
{
	const mbedtls_x509_crt *child = s->path[s->n - 1];
	char name[CERT_WHY];
	bool found;

	if (!equal(&child->issuer_raw, &ca->subject_raw) || is_on_path(s, ca))
		return false;
	shown_name(name, &ca->subject);
	if (s->n == MAX_PATH || s->signatures++ == MAX_SIGNATURES) {
		fail(s, "its chain is too long");
		return false;
	}
	if (check_signature(s, child, ca, name) || check_ca(s, ca, is_root, name))
		return false;
	s->path[s->n++] = ca;
	found = is_root ? !check_usage(s) : build_chain(s);
	s->n--;
	return found;
}

static bool build_chain(struct search *s)
{
	for (const mbedtls_x509_crt *ca = &s->check->trust->pool; ca; ca = ca->next)
		if (extend_chain(s, ca, true))
			return true;
	for (const mbedtls_x509_crt *ca = s->path[0]->next; ca; ca = ca->next)
		if (extend_chain(s, ca, false))
			return true;
	return false;
}

/* ---- the server's certificate --------------------------------------------------- */

static bool is_in_pool(const struct trust *t, const mbedtls_x509_crt *crt)
{
	for (const mbedtls_x509_crt *ca = &t->pool; ca; ca = ca->next)
		if (equal(&ca->raw, &crt->raw))
			return true;
	return false;
}

/* "its certificate is for another name: it has a.example, 10.0.0.1" */
static int fail_name(struct search *s, const mbedtls_x509_crt *crt)
{
	const mbedtls_x509_sequence *san = &crt->subject_alt_names;
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf names = { .max = TRUST_WHY };

	for (int n = 0; san && san->buf.p && n < SHOWN_NAMES; san = san->next) {
		const char *text = NULL;
		const unsigned char *p = san->buf.p;

		if (TYPE_OF(&san->buf) == NAME_DNS)
			text = str_slice(&arena, (const char *)p, san->buf.len);
		else if (TYPE_OF(&san->buf) == NAME_IP && san->buf.len == 4)
			text = arena_printf(&arena, "%d.%d.%d.%d", p[0], p[1], p[2],
					    p[3]);
		if (text)
			buf_printf(&names, "%s%s", n++ ? ", " : ": it is for ",
				   str_visible(&arena, text, false));
	}
	return fail(s, "its certificate is for another name%s",
		    names.len ? (char *)names.data : "");
}

/* True: host is no address, or an IP SAN has it. mbedTLS would accept a DNS name, too. */
static bool has_address(const mbedtls_x509_crt *crt, const char *host)
{
	const mbedtls_x509_sequence *san = &crt->subject_alt_names;
	unsigned char address[16];
	size_t len = inet_pton(AF_INET, host, address) == 1    ? 4
		     : inet_pton(AF_INET6, host, address) == 1 ? 16
							       : 0;

	for (; len && san && san->buf.p; san = san->next)
		if (TYPE_OF(&san->buf) == NAME_IP && san->buf.len == len &&
		    !memcmp(san->buf.p, address, len))
			return true;
	return !len;
}

static int check_server(struct search *s, const mbedtls_x509_crt *crt, bool other_name)
{
	struct cert_extensions e;

	cert_extensions(&e, crt);
	if (check_time(s, crt, "its certificate") ||
	    check_extensions(s, &e, "its certificate"))
		return -1;
	if (!mbedtls_x509_crt_has_ext_type(crt, MBEDTLS_X509_EXT_SUBJECT_ALT_NAME))
		return fail(s, "its certificate has no subject alternative name; the "
			       "Common Name does not count");
	if (other_name || !has_address(crt, s->check->host))
		return fail_name(s, crt);
	if (!is_key_usable(&crt->pk))
		return fail(
			s,
			"its certificate has a key that is not supported (supported: %s)",
			CERT_SUPPORTED);
	return 0;
}

static void fail_unknown_ca(struct trust_check *c, const mbedtls_x509_crt *crt)
{
	const struct cert_count *count = &c->trust->count;
	const mbedtls_x509_crt *top = crt;
	char name[CERT_WHY];

	c->unknown_ca = true;
	for (const mbedtls_x509_crt *ca = crt->next; ca; ca = ca->next)
		if (equal(&top->issuer_raw, &ca->subject_raw))
			top = ca;
	shown_name(name, &top->issuer);
	snprintf(c->why, sizeof(c->why), "%.150s%s%.200s", name,
		 count->skipped ? "; skipped: " : "", count->skipped ? count->why : "");
}

static bool is_accepted(struct trust_check *c, const mbedtls_x509_crt *crt,
			bool other_name)
{
	struct search s = { .check = c, .path = { crt }, .n = 1 };

	if (!crt->raw.p) {
		fail(&s,
		     "its certificate has a signature that is not supported "
		     "(supported: %s)",
		     CERT_SUPPORTED);
		return false;
	}
	if (check_server(&s, crt, other_name))
		return false;
	if (is_in_pool(c->trust, crt))
		return !check_usage(&s);
	if (build_chain(&s)) {
		*c->why = '\0';
		c->unknown_ca = false;
		return true;
	}
	if (!*c->why)
		fail_unknown_ca(c, crt);
	return false;
}

int trust_verify(void *ctx, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
	struct trust_check *c = ctx;
	bool other_name = *flags & MBEDTLS_X509_BADCERT_CN_MISMATCH;

	*flags = 0;
	if (depth)
		return 0;
	*c->why = '\0';
	c->unknown_ca = false;
	if (c->trust && !is_accepted(c, crt, other_name))
		*flags = MBEDTLS_X509_BADCERT_OTHER;
	/* Without these bits the handshake skips its own checks of usages. */
	crt->MBEDTLS_PRIVATE(ext_types) &=
		~(MBEDTLS_X509_EXT_KEY_USAGE | MBEDTLS_X509_EXT_EXTENDED_KEY_USAGE);
	return 0;
}

void trust_apply(struct trust_check *check, void *ssl_config)
{
	mbedtls_ssl_conf_verify(ssl_config, trust_verify, check);
	mbedtls_ssl_conf_renegotiation(ssl_config, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
}
