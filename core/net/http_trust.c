/* http_trust.c - reads the CA certificates that a client trusts (net/http.h). */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "net/http_impl.h"

#define MAX_CA ((size_t)4 * 1024 * 1024)

/* Is it a link to another file of its directory, as hashes of OpenSSL are? */
static bool is_alias(const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to));

	return n > 0 && !memchr(to, '/', (size_t)n);
}

static void add_file(struct buf *out, const char *path)
{
	cleanup_buf struct buf text = { .max = MAX_CA };

	if (is_alias(path) || file_read_regular(&text, path, IGNORED) || !text.len ||
	    memchr(text.data, 0, text.len) ||
	    !strstr((char *)text.data, "-----BEGIN CERTIFICATE-----"))
		return;
	buf_add(out, text.data, text.len);
	buf_adds(out, "\n");
}

/* As Go does, whatever the names are: what is no PEM or cannot be read is left out. */
static void add_dir(struct buf *out, const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = dir_next(d))) {
		cleanup_arena struct arena arena = { 0 };

		add_file(out, path_join(&arena, dir, e->d_name));
	}
	if (d)
		closedir(d);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int read_trust(struct trust **ret, const struct http_client *client,
		      struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_CA };
	cleanup_arena struct arena arena = { 0 };
	char **dir = str_split(&arena, client->ca_dirs ? client->ca_dirs : "", ':', NULL);

	if (client->ca_pem)
		return trust_new(ret, client->ca_pem, err);
	if (client->ca_file && is_dir(client->ca_file))
		add_dir(&text, client->ca_file);
	else if (client->ca_file && file_read(&text, client->ca_file, err))
		return -1;
	buf_adds(&text, "\n");
	for (; *dir; dir++)
		if (**dir)
			add_dir(&text, *dir);
	if (buf_check(&text, "the CA certificates", err))
		return -1;
	return trust_new(ret, (char *)text.data, err);
}

/* Where they are from, for messages. */
static const char *source(struct call *c)
{
	const struct http_client *client = c->client;
	const char *setting = client->ca_setting;

	if (client->ca_file && setting)
		return arena_printf(&c->arena, "%s (%s)", client->ca_file, setting);
	if (client->ca_file || client->ca_dirs)
		return client->ca_file ? client->ca_file : client->ca_dirs;
	return setting ? setting : "the settings";
}

int call_load_trust(struct call *c)
{
	struct http_client *client = c->client;
	struct error why = { 0 };
	int rc = 0;

	if (client->insecure)
		return 0;
	if (!client->ca_pem && !client->ca_file && !client->ca_dirs)
		return error_set(c->err, ERR_UNTRUSTED,
				 "%s: no CA certificates found on this system; set "
				 "SSL_CERT_FILE",
				 c->host);
	pthread_mutex_lock(&client->lock);
	if (!client->trust)
		rc = read_trust(&client->trust, client, &why);
	pthread_mutex_unlock(&client->lock);
	if (!rc)
		return 0;
	return error_set(c->err, ERR_INVALID,
			 "%s: cannot read CA certificates from %s: %s", c->host,
			 source(c), why.msg);
}
