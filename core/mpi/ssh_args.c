/* ssh_args.c - parse the command line of ssh (mpi/ssh_args.h). */
#include "mpi/ssh_args.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"

enum { MAX_PORT = 65535, MAX_SECONDS = 365 * 24 * 3600 };

#define FLAGS       "46AaCfGgKkMNnqsTtVvXxYy"
#define WITH_VALUES "BbcDEeFIiJLlmOopQRSWw"

struct reader {
	struct ssh_args *args;
	struct arena *arena;
	int argc;
	char *const *argv;
	int at;
};

/* ---- -o KEY=VALUE --------------------------------------------------------------- */

static int set_number(int64_t *ret, const char *name, const char *value, int64_t max,
		      struct error *err)
{
	return str_int(ret, value, 1, max, err) ? error_wrap(err, "%s", name) : 0;
}

static int set_port(struct ssh_args *a, const char *value, struct error *err)
{
	return set_number(&a->port, "Port", value, MAX_PORT, err);
}

static int set_user(struct ssh_args *a, const char *value, struct error *err)
{
	a->user = value;
	return 0;
}

static int set_key_file(struct ssh_args *a, const char *value, struct error *err)
{
	a->key_file = value;
	return 0;
}

static int set_timeout(struct ssh_args *a, const char *value, struct error *err)
{
	return set_number(&a->connect_timeout_s, "ConnectTimeout", value, MAX_SECONDS,
			  err);
}

static int set_attempts(struct ssh_args *a, const char *value, struct error *err)
{
	return set_number(&a->connection_attempts, "ConnectionAttempts", value,
			  MAX_SECONDS, err);
}

static int set_checking(struct ssh_args *a, const char *value, struct error *err)
{
	a->any_host_key = !strcasecmp(value, "no") || !strcasecmp(value, "off");
	return 0;
}

/* Keywords are case-insensitive, as in ssh_config(5); unknown ones are skipped. */
static const struct keyword {
	const char *name;
	int (*set)(struct ssh_args *a, const char *value, struct error *err);
} keywords[] = {
	{ "Port", set_port },
	{ "User", set_user },
	{ "IdentityFile", set_key_file },
	{ "ConnectTimeout", set_timeout },
	{ "ConnectionAttempts", set_attempts },
	{ "StrictHostKeyChecking", set_checking },
};

/* "Key=value", "Key value", "Key = value". */
static int read_keyword(struct reader *r, const char *text, struct error *err)
{
	size_t len;
	const char *value;

	text += strspn(text, " \t");
	len = strcspn(text, "= \t");
	value = text + len + strspn(text + len, " \t");
	if (*value == '=')
		value++;
	for (size_t i = 0; i < N_ELEMENTS(keywords); i++) {
		const struct keyword *k = &keywords[i];

		if (strlen(k->name) == len && !strncasecmp(k->name, text, len))
			return k->set(r->args, str_trim(r->arena, value), err);
	}
	return 0;
}

/* ---- options -------------------------------------------------------------------- */

static int apply(struct reader *r, char letter, const char *value, struct error *err)
{
	switch (letter) {
	case 'p':
		return set_number(&r->args->port, "-p", value, MAX_PORT, err);
	case 'l':
		return set_user(r->args, value, err);
	case 'i':
		return set_key_file(r->args, value, err);
	case 'o':
		return read_keyword(r, value, err);
	default:
		return 0;
	}
}

/* "-xq", "-p2222", "-p 2222", "-xp 2222". */
static int read_letters(struct reader *r, const char *letters, struct error *err)
{
	for (const char *p = letters; *p; p++) {
		if (*p == 'v')
			r->args->verbose = true;
		if (strchr(FLAGS, *p))
			continue;
		if (!strchr(WITH_VALUES, *p))
			return error_set(err, ERR_USAGE, "unknown option '-%c'", *p);
		if (p[1])
			return apply(r, *p, p + 1, err);
		if (r->at + 1 >= r->argc)
			return error_set(err, ERR_USAGE, "option '-%c' needs a value",
					 *p);
		return apply(r, *p, r->argv[++r->at], err);
	}
	return 0;
}

static int set_own_timeout(struct ssh_args *a, const char *value, struct error *err)
{
	if (duration_parse(&a->timeout_ms, value, err))
		return error_wrap(err, "--timeout");
	return a->timeout_ms > 0
		       ? 0
		       : error_set(err, ERR_USAGE,
				   "--timeout: invalid duration '%s': want more than 0",
				   value);
}

static int set_wait(struct ssh_args *a, const char *value, struct error *err)
{
	a->wait_file = value;
	return 0;
}

static int set_watch(struct ssh_args *a, const char *value, struct error *err)
{
	a->watch_file = value;
	return 0;
}

static const struct keyword own[] = {
	{ "timeout", set_own_timeout },
	{ "wait", set_wait },
	{ "watch", set_watch },
};

/* "--timeout 10m", "--timeout=10m". */
static int read_own(struct reader *r, const char *text, struct error *err)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : NULL;

	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		if (strlen(own[i].name) != len || strncmp(own[i].name, text, len))
			continue;
		if (!value && r->at + 1 >= r->argc)
			return error_set(err, ERR_USAGE, "option '--%s' needs a value",
					 own[i].name);
		return own[i].set(r->args, value ? value : r->argv[++r->at], err);
	}
	return error_set(err, ERR_USAGE, "unknown option '--%s'", text);
}

/* Parse consecutive options. A "--" ends them and is dropped. */
static int read_options(struct reader *r, bool *ret_ended, struct error *err)
{
	for (; r->at < r->argc; r->at++) {
		const char *word = r->argv[r->at];

		if (str_eq(word, "--")) {
			r->at++;
			*ret_ended = true;
			return 0;
		}
		if (word[0] != '-' || !word[1])
			return 0;
		if (word[1] == '-' ? read_own(r, word + 2, err)
				   : read_letters(r, word + 1, err))
			return -1;
	}
	return 0;
}

/* "host" or "user@host", whose user overrides -l. */
static void read_host(struct reader *r)
{
	const char *word = r->argv[r->at++], *at = strrchr(word, '@');

	r->args->host = at ? at + 1 : word;
	if (at && at > word)
		r->args->user = str_slice(r->arena, word, (size_t)(at - word));
}

/* The host, with options before and after it. */
static int read_target(struct reader *r, bool *ended, struct error *err)
{
	const char *user;

	read_host(r);
	user = r->args->user;
	if (!*ended && read_options(r, ended, err))
		return -1;
	if (user)
		r->args->user = user;
	return 0;
}

static int check(const struct ssh_args *a, bool has_words, struct error *err)
{
	if (a->wait_file && a->watch_file)
		return error_set(err, ERR_USAGE, "--wait and --watch cannot be combined");
	if ((a->wait_file || a->watch_file) && a->host)
		return error_set(err, ERR_USAGE, "--%s: unexpected host '%s'",
				 a->wait_file ? "wait" : "watch", a->host);
	if (a->watch_file && !has_words)
		return error_set(
			err, ERR_USAGE,
			"specify a command: mpi-launch --watch HOSTFILE COMMAND");
	if (!a->host && !a->wait_file && !a->watch_file)
		return error_set(err, ERR_USAGE,
				 "specify a host: mpi-launch [OPTIONS] HOST COMMAND");
	if (a->host && !a->host[0])
		return error_set(err, ERR_USAGE, "the host name is empty");
	return 0;
}

int ssh_args_parse(struct ssh_args *ret, struct arena *arena, int argc, char *const *argv,
		   struct error *err)
{
	struct ssh_args args = { .command = "" };
	struct reader r = { &args, arena, argc, argv, 1 };
	bool ended = false;

	if (read_options(&r, &ended, err))
		return -1;
	if (r.at < argc && !args.watch_file && read_target(&r, &ended, err))
		return -1;
	args.words = argv + r.at;
	if (check(&args, r.at < argc, err))
		return -1;
	if (r.at < argc)
		args.command = str_join(arena, (const char *const *)argv + r.at, " ");
	*ret = args;
	return 0;
}
