/* Releases columns: array.h. */
#include "arrow/array.h"

#include <stdlib.h>

void array_release(struct array *a)
{
	for (size_t i = 0; a->children && i < a->field->n_children; i++)
		array_release(&a->children[i]);
	free(a->children);
	block_free(&a->validity);
	block_free(&a->offsets);
	block_free(&a->values);
	*a = (struct array){ 0 };
}
