/* track_spec.c - read the annotations of a tracked TrainJob (trainer/track_spec.h). */
#include "trainer/track_spec.h"

#include "base/str.h"
#include "trainer/authority.h"
#include "trainer/trainjob.h"

enum { MAX_URI = 2000, MAX_EXPERIMENT = 500 };

static const struct {
	const char *scheme, *transport;
} kinds[] = {
	{ "mlflow+https://", "https://" },
	{ "mlflow+http://", "http://" },
};

/* NULL: not a percent-encoded text of one line, or one that a pod would expand. */
static const char *decode(struct arena *arena, const char *text)
{
	cleanup_buf struct buf out = { .max = MAX_EXPERIMENT };

	for (const char *p = text; *p; p++) {
		if (*p != '%')
			buf_add(&out, p, 1);
		else if (strlen(p) < 3 || hex_decode(&out, p + 1, 2, IGNORED))
			return NULL;
		else
			p += 2;
	}
	for (size_t i = 0; i < out.len; i++)
		if (out.data[i] < ' ' || out.data[i] == 127)
			return NULL;
	if (!out.len || out.overflowed || !utf8_valid(out.data, out.len))
		return NULL;
	text = str_slice(arena, (const char *)out.data, out.len);
	return strstr(text, "$(") ? NULL : text;
}

/* The rest of the URI after its scheme: HOST[:PORT][/PREFIX]/EXPERIMENT */
static bool read_rest(struct track_spec *ret, struct arena *arena, const char *transport,
		      const char *rest)
{
	const char *text = str_slice(arena, rest, str_length_before(rest, '/'));
	const char *slash = strrchr(text, '/');

	if (!slash || !authority_is_server(text) || strlen(text) > MAX_URI)
		return false;
	for (const unsigned char *p = (const void *)text; *p; p++)
		if (*p <= ' ' || *p >= 127 || strchr("@?#$\\", *p))
			return false;
	ret->server = arena_printf(arena, "%s%.*s", transport, (int)(slash - text), text);
	ret->experiment = decode(arena, slash + 1);
	return ret->experiment != NULL;
}

static int read_uri(struct track_spec *ret, struct arena *arena, struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		const char *rest = str_after(ret->uri, kinds[i].scheme);

		if (rest && read_rest(ret, arena, kinds[i].transport, rest))
			return 0;
	}
	return error_set(err, ERR_INVALID,
			 TRACK_ANNOTATION
			 ": expected mlflow+https://HOST[:PORT]/EXPERIMENT, "
			 "percent-encoded, with credentials in a Secret");
}

int track_spec_of(struct track_spec *ret, struct arena *arena, const cJSON *tj,
		  const cJSON *template_annotations, struct error *err)
{
	*ret = (struct track_spec){
		.uri = tj_annotation(tj, template_annotations, TRACK_ANNOTATION),
		.secret =
			tj_annotation(tj, template_annotations, TRACK_SECRET_ANNOTATION),
	};
	return ret->uri ? read_uri(ret, arena, err) : 0;
}
