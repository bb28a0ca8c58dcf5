/*
 * form.h - the values of an HTML form: a query, or the body of a POST
 * (application/x-www-form-urlencoded).
 */
#ifndef UI_FORM_H
#define UI_FORM_H

#include "base/arena.h"

/* The first value of that name, decoded, in the arena; NULL: none, or an invalid one. */
const char *form_value(struct arena *arena, const char *form, const char *name);

#endif
