/*
 * yaml2json.c - the document on standard input as one line of JSON: what the build embeds in
 * place of large YAML, whose parsing takes ten times as long.
 */
#include <stdio.h>

#include "base/yaml.h"

int main(void)
{
	cleanup_buf struct buf in = { .max = YAML_MAX_BYTES },
			       out = { .max = YAML_MAX_BYTES };
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };
	char piece[BUFSIZ];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
		buf_add(&in, piece, n);
	if (ferror(stdin) || yaml_parse(&docs, in.data, in.len, &err) ||
	    cJSON_GetArraySize(docs) != 1) {
		fprintf(stderr, "yaml2json: %s\n",
			*err.msg ? err.msg : "not one document");
		return 1;
	}
	json_print(&out, docs->child);
	return out.len != fwrite(out.data, 1, out.len, stdout) || fflush(stdout);
}
