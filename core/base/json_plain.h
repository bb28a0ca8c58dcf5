/*
 * json_plain.h - bytes of a string that JSON has as they are, for json_read.c and
 * json_print.c.
 */
#ifndef BASE_JSON_PLAIN_H
#define BASE_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_EACH(byte) (0x0101010101010101 * (uint64_t)(byte))

/* Has one of eight bytes this value? */
static inline bool json_has_byte(uint64_t eight, unsigned char byte)
{
	uint64_t x = eight ^ JSON_EACH(byte);

	return (x - JSON_EACH(1)) & ~x & JSON_EACH(0x80);
}

static inline bool json_is_plain(unsigned char c, bool ascii)
{
	return c >= ' ' && c != '"' && c != '\\' && !(ascii && c >= 0x80);
}

/*
 * The bytes from p that are neither quotes, backslashes nor control characters, and, if
 * `ascii`, no part of a longer character.
 */
static inline size_t json_plain(const char *p, size_t len, bool ascii)
{
	uint64_t eight;
	size_t n = 0;

	for (; len - n >= sizeof(eight); n += sizeof(eight)) {
		memcpy(&eight, p + n, sizeof(eight));
		if (((eight - JSON_EACH(' ')) & ~eight & JSON_EACH(0x80)) ||
		    json_has_byte(eight, '"') || json_has_byte(eight, '\\') ||
		    (ascii && (eight & JSON_EACH(0x80))))
			break;
	}
	while (n < len && json_is_plain((unsigned char)p[n], ascii))
		n++;
	return n;
}

#endif
