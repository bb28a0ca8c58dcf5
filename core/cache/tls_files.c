/* tls_files.c - reloads a certificate from two files (cache/tls_files.h). */
#include "cache/tls_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/x509.h"

enum { POLL_MS = 2000, SAME_MS = 60 * 1000, MAX_FILE = 256 * 1024 };

enum { CERT, KEY, N_FILES };

struct tls_files {
	const char *names[N_FILES];
	struct stat stats[N_FILES]; /* of the files of the current certificate */
	struct tls_server *server;
	struct log_last logged;
	pthread_t thread;
	bool watched;
};

static int read_pem(struct buf *ret, const char *name, struct stat *ret_stat,
		    struct error *err)
{
	/* stat() before reading: a later change is found at the next check. */
	if (stat(name, ret_stat))
		*ret_stat = (struct stat){ 0 };
	return file_read(ret, name, err);
}

static void log_shown(const char *cert)
{
	char when[TIME_TEXT_SIZE];
	int64_t ends;

	if (!x509_expiry(&ends, cert, IGNORED))
		log_info("serving a certificate", LOG_STR("ends", time_text(ends, when)));
}

static const char *text(const struct buf *b)
{
	return b->data ? (const char *)b->data : "";
}

static int show(struct tls_files *f, struct error *err)
{
	struct buf pem[N_FILES] = { { .max = MAX_FILE }, { .max = MAX_FILE } };
	struct stat stats[N_FILES];
	int rc = 0;

	for (int i = 0; i < N_FILES && !rc; i++)
		rc = read_pem(&pem[i], f->names[i], &stats[i], err);
	if (!rc && tls_server_identity(f->server, text(&pem[CERT]), text(&pem[KEY]), err))
		rc = error_wrap(err, "%s, %s", f->names[CERT], f->names[KEY]);
	if (!rc) {
		memcpy(f->stats, stats, sizeof(stats));
		log_shown(text(&pem[CERT]));
	}
	if (pem[KEY].data)
		explicit_bzero(pem[KEY].data, pem[KEY].len);
	buf_release(&pem[CERT]);
	buf_release(&pem[KEY]);
	return rc;
}

static void check_files(struct tls_files *f)
{
	struct error err = { 0 };
	struct stat now;
	bool same = true;

	for (int i = 0; i < N_FILES; i++)
		same = same && !stat(f->names[i], &now) &&
		       file_is_same(&now, &f->stats[i]);
	if (!same && show(f, &err) && log_is_news(&f->logged, err.msg, SAME_MS))
		log_warn("cannot use the new certificate; the previous one stays in use",
			 LOG_ERR(&err));
}

static void *watch_files(void *ctx)
{
	while (!stop_wait(POLL_MS))
		check_files(ctx);
	return NULL;
}

int tls_files_new(struct tls_files **ret, const char *cert, const char *key,
		  struct error *err)
{
	static const char *const alpn[] = { "h2", NULL };
	const struct tls_conf conf = { .alpn = alpn };
	struct tls_files *f = xcalloc(1, sizeof(*f));

	f->names[CERT] = cert;
	f->names[KEY] = key;
	if (tls_server_new(&f->server, &conf, err) || show(f, err)) {
		tls_files_free(f);
		return -1;
	}
	*ret = f;
	return 0;
}

int tls_files_watch(struct tls_files *f, struct error *err)
{
	int rc = thread_start(&f->thread, watch_files, f, err);

	f->watched = !rc;
	return rc;
}

struct tls_server *tls_files_server(struct tls_files *f)
{
	return f->server;
}

void tls_files_free(struct tls_files *f)
{
	if (!f)
		return;
	if (f->watched)
		pthread_join(f->thread, NULL);
	tls_server_free(f->server);
	free(f);
}
