/* authority.c - the server or bucket of a URI (trainer/authority.h) */
#include "trainer/authority.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum { PORT_MAX = 65535, PORT_DIGITS = 5 };

static bool is_end(char c)
{
	return !c || c == '/';
}

/* The length of a name or address; 0: it is none. */
static size_t host_length(const char *text)
{
	size_t n;

	if (*text != '[')
		return strspn(text, LETTERS DIGITS ".-_");
	n = 1 + strspn(text + 1, DIGITS "abcdefABCDEF:.");
	return n > 1 && text[n] == ']' ? n + 1 : 0;
}

bool authority_is_server(const char *text)
{
	size_t n = host_length(text), digits;
	const char *port = text + n + 1;
	int number;

	if (!n || text[n] != ':')
		return n && is_end(text[n]);
	digits = strspn(port, DIGITS);
	if (!digits || digits > PORT_DIGITS || !is_end(port[digits]))
		return false;
	number = atoi(port);
	return number > 0 && number <= PORT_MAX;
}

bool authority_is_bucket(const char *text)
{
	size_t n = strspn(text, LETTERS DIGITS ".-_");

	return n && is_end(text[n]);
}
