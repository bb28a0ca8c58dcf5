/* form.c - the values of an HTML form. */
#include "ui/form.h"

#include <string.h>

#include "base/str.h"
#include "net/uri.h"

const char *form_value(struct arena *arena, const char *form, const char *name)
{
	size_t len = strlen(name);

	while (*form) {
		size_t n = strcspn(form, "&");

		if (n > len && !memcmp(form, name, len) && form[len] == '=') {
			char *text = str_slice(arena, form + len + 1, n - len - 1);
			const char *ret;

			for (char *c = text; *c; c++)
				if (*c == '+')
					*c = ' ';
			return uri_decode(&ret, arena, text, IGNORED) ? NULL : ret;
		}
		form += n + (form[n] == '&');
	}
	return NULL;
}
