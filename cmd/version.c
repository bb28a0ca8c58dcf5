/* version.c - print versions, libraries and licenses. */
#include <stdio.h>
#include <string.h>

#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/zstd.h"
#include "cmd/cmd.h"
#include "cmd/ui/out.h"

/* Set by the Makefile: "NAME@VERSION;" for each linked library. */
#ifndef LIBRARIES
#define LIBRARIES ""
#endif
#ifndef UNPINNED /* libraries of other revisions than in vendor/lock */
#define UNPINNED ""
#endif
#ifndef COMMIT /* set by make COMMIT=... */
#define COMMIT ""
#endif
#ifndef RELEASE /* set by vendor/release.sh: "0.2.0-dev+COMMIT" without a tag */
#define RELEASE VERSION
#endif

struct version_opts {
	int output;
	bool licenses;
};

static const char *const formats[] = { "table", "yaml", "json", NULL };

static const struct opt opts_table[] = {
	OPT_ENUM('o', "output", "FORMAT", "output format", struct version_opts, output,
		 formats),
	OPT_BOOL(0, "licenses", "print the licenses of the program and its libraries",
		 struct version_opts, licenses),
	{ .type = OPT_END },
};

static cJSON *pairs(const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *map = cJSON_CreateObject();
	char **lines = str_split(&arena, text, ';', NULL);

	for (; *lines; lines++) {
		char **words = str_split(&arena, *lines, '@', NULL);

		if (*words[0] && words[1])
			json_put_str(map, words[1], words[0]);
	}
	return map;
}

static cJSON *describe(void)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, RELEASE, "version");
	if (*COMMIT)
		json_put_str(doc, COMMIT, "commit");
	json_put_str(doc, "trainer.kubeflow.org/v1alpha1", "apiVersion");
	json_put(doc, pairs(LIBRARIES), "libraries");
	json_put_bool(doc, !*UNPINNED, "pinned");
	if (*UNPINNED)
		json_put(doc, pairs(UNPINNED), "unpinned");
	return doc;
}

static void print_lines(const cJSON *doc)
{
	const char *commit = json_str(doc, "commit");
	const cJSON *libs = json_get(doc, "libraries"), *lib;

	printf("kftrainer %s%s%s\n", json_str(doc, "version"), commit ? " " : "",
	       commit ? commit : "");
	printf("API %s\n", json_str(doc, "apiVersion"));
	json_each(lib, libs)
		printf("%s%s %s%s", lib == libs->child ? "with " : ", ", lib->string,
		       lib->valuestring, lib->next ? "" : "\n");
	json_each(lib, json_get(doc, "unpinned"))
		printf("unpinned: %s %s is not the revision in vendor/lock\n",
		       lib->string, lib->valuestring);
}

/* The unread part of an embedded file: the context of a struct zstd_source. */
struct rest {
	const unsigned char *data;
	size_t len;
};

static int read_rest(void *ctx, void *data, size_t len, size_t *ret_len,
		     struct error *err)
{
	struct rest *r = ctx;

	*ret_len = len < r->len ? len : r->len;
	memcpy(data, r->data, *ret_len);
	r->data += *ret_len;
	r->len -= *ret_len;
	return 0;
}

static int print_licenses(struct error *err)
{
	const struct asset *asset = asset_find("licenses.zst");
	struct rest rest = { asset->data, asset->len };
	const struct zstd_source from = { read_rest, &rest };
	cleanup_zstd_reader struct zstd_reader *reader = NULL;
	char piece[16384];
	size_t n;

	if (zstd_reader_new(&reader, &from, err))
		return -1;
	do {
		if (zstd_read(reader, piece, sizeof(piece), &n, err))
			return -1;
		fwrite(piece, 1, n, stdout);
	} while (n);
	return EXIT_OK;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct version_opts *opts = values;
	cleanup_json cJSON *doc = NULL;
	enum out_format format = out_format(formats[opts->output]);

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (opts->licenses && format != OUT_TABLE)
		return error_set(err, ERR_USAGE, "--licenses cannot be combined with -o");
	if (opts->licenses)
		return print_licenses(err);
	doc = describe();
	if (format != OUT_TABLE)
		return out_doc(format, doc, err);
	print_lines(doc);
	return EXIT_OK;
}

const struct cmd cmd_version = {
	.name = "version",
	.args = "",
	.summary = "print the versions of the program and its libraries",
	.opts = opts_table,
	.opts_size = sizeof(struct version_opts),
	.example = "kftrainer version\n"
		   "kftrainer version -o json\n"
		   "kftrainer version --licenses",
	.run = run,
};
