/* preflight_spec.c - read the annotation of checked nodes (trainer/preflight_spec.h). */
#include "trainer/preflight_spec.h"

#include "base/str.h"
#include "trainer/trainjob.h"

int preflight_mode_of(enum preflight_mode *ret, const cJSON *tj,
		      const cJSON *template_annotations, struct error *err)
{
	static const char *const words[] = { [PREFLIGHT_OFF] = "off",
					     [PREFLIGHT_WARN] = "warn",
					     [PREFLIGHT_ENFORCE] = "enforce" };
	const char *text = tj_annotation(tj, template_annotations, PREFLIGHT_ANNOTATION);

	*ret = PREFLIGHT_OFF;
	for (size_t i = 0; text && i < N_ELEMENTS(words); i++)
		if (str_eq(text, words[i])) {
			*ret = (enum preflight_mode)i;
			return 0;
		}
	return text ? error_set(err, ERR_INVALID,
				PREFLIGHT_ANNOTATION
				": '%.100s' is none of warn, enforce and off",
				text)
		    : 0;
}
