/*
 * The functions of vendor/fastmem.c, as they stand in the sysroot, against plain loops:
 * every length up to 300 at every alignment, overlaps of them, lengths around each
 * boundary of the code, buffers that end at an unmapped page. Prints TAP. Links
 * fastmem.o alone, without cmocka.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Called through pointers, so that the compiler has no builtin in its place. */
static void *(*volatile fn_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fn_memmove)(void *, const void *, size_t) = memmove;
static int (*volatile fn_memcmp)(const void *, const void *, size_t) = memcmp;
static void *(*volatile fn_memchr)(const void *, int, size_t) = memchr;
static size_t (*volatile fn_strlen)(const char *) = strlen;
static int (*volatile fn_strcmp)(const char *, const char *) = strcmp;

enum { BIG = 20 << 20 };

/* Memory of size bytes between two pages that cannot be touched. */
static unsigned char *guarded(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (size + page - 1) / page * page;
	unsigned char *map = mmap(NULL, whole + 2 * page, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map + page, whole, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(1);
	}
	return map + page + whole - size;
}

static unsigned char at(size_t i)
{
	return (unsigned char)(i * 167 + (i >> 8) * 13 + 5);
}

static void fill(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = at(i);
}

/* Copies n bytes within buf of size bytes, and checks every byte of buf. */
static bool moves(void *(*move)(void *, const void *, size_t), unsigned char *buf,
		  size_t size, size_t to, size_t from, size_t n)
{
	fill(buf, size);
	if (move(buf + to, buf + from, n) != buf + to)
		return false;
	for (size_t i = 0; i < size; i++) {
		unsigned char want = i >= to && i < to + n ? at(i - to + from) : at(i);

		if (buf[i] != want)
			return false;
	}
	return true;
}

static bool short_copies(void)
{
	unsigned char *buf = guarded(1024);

	for (size_t n = 0; n <= 300; n++)
		for (size_t a = 0; a < 16; a++)
			for (size_t b = 0; b < 16; b++)
				if (!moves(fn_memcpy, buf, 1024, a, 512 + b, n))
					return false;
	return true;
}

static bool short_overlaps(void)
{
	unsigned char *buf = guarded(1024);

	for (size_t n = 0; n <= 300; n++)
		for (size_t to = 300; to <= 316; to += 4)
			for (size_t from = 0; from <= 700; from += 5 + from % 3)
				if (!moves(fn_memmove, buf, 1024, to, from, n))
					return false;
	return true;
}

static bool edge_of_memory(void)
{
	unsigned char *from = guarded(4096), *to = guarded(4096);

	for (size_t n = 0; n <= 4096; n++) {
		unsigned char *s = from + 4096 - n, *d = to + 4096 - n;

		fill(s, n);
		fn_memcpy(d, s, n);
		if (fn_memcmp(d, s, n))
			return false;
		fn_memmove(to, s, n);
		if (fn_memcmp(to, s, n))
			return false;
	}
	return true;
}

static bool large_copies(void)
{
	static const size_t lengths[] = {
		4095, 65536, 65537, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, (9 << 20) + 63,
	};
	unsigned char *buf = guarded(BIG);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (size_t a = 0; a < 16; a += 13)
			if (!moves(fn_memcpy, buf, BIG, a, (10 << 20) + 3, lengths[i]) ||
			    !moves(fn_memcpy, buf, BIG, (10 << 20) + a, 1, lengths[i]))
				return false;
	return true;
}

static bool large_overlaps(void)
{
	static const size_t shifts[] = { 1, 15, 16, 63, 64, 65, 1000, 1 << 20, 9 << 20 };
	unsigned char *buf = guarded(BIG);

	for (size_t i = 0; i < sizeof(shifts) / sizeof(*shifts); i++)
		if (!moves(fn_memmove, buf, BIG, 7, 7 + shifts[i], (9 << 20) + 5) ||
		    !moves(fn_memmove, buf, BIG, 7 + shifts[i], 7, (9 << 20) + 5))
			return false;
	return true;
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

/* Every place where two buffers may differ first, and what comes after it. */
static bool compares(void)
{
	unsigned char *a = guarded(200), *b = guarded(200);

	for (size_t n = 0; n <= 200; n++) {
		unsigned char *x = a + 200 - n, *y = b + 200 - n;

		fill(x, n);
		fill(y, n);
		if (fn_memcmp(x, y, n))
			return false;
		for (size_t i = 0; i < n; i++) {
			y[i] = (unsigned char)(x[i] ^ 0x80);
			if (i + 1 < n)
				y[i + 1] = (unsigned char)~x[i + 1];
			if (sign(fn_memcmp(x, y, n)) != (x[i] > y[i] ? 1 : -1))
				return false;
			y[i] = x[i];
			if (i + 1 < n)
				y[i + 1] = x[i + 1];
		}
	}
	return true;
}

/*
 * Texts of every length, up to an unmapped page and, `shift` bytes earlier, before
 * other bytes: the end of the text is found, and nothing beyond it counts.
 */
static bool finds_ends(void)
{
	unsigned char *buf = guarded(512);

	for (size_t shift = 0; shift < 17; shift++)
		for (size_t n = 0; n <= 300; n++) {
			unsigned char *s = buf + 512 - shift - n - 1;

			memset(buf, 'x', 512);
			memset(buf, 0, (size_t)(s - buf));
			s[n] = 0;
			if (fn_strlen((char *)s) != n || fn_memchr(s, 0, n) ||
			    fn_memchr(s, 0, n + 1) != s + n || fn_memchr(s, 'y', n) ||
			    (n && fn_memchr(s, 'x', SIZE_MAX) != s))
				return false;
			memset(s, 'z', n / 2);
			if (fn_memchr(s, 'x', n) != (n ? s + n / 2 : NULL))
				return false;
		}
	return true;
}

/* As compares(), of texts that end at every distance from the page's end. */
static bool orders(void)
{
	unsigned char *a = guarded(200), *b = guarded(4096 + 200);

	for (size_t n = 0; n <= 150; n++)
		for (size_t shift = 0; shift < 17; shift++) {
			unsigned char *x = a + 200 - n - 1, *y = b + 4296 - shift - n - 1;

			memset(x, 'c', n);
			memset(b + 4000, 'c', 296);
			x[n] = y[n] = 0;
			if (fn_strcmp((char *)x, (char *)y))
				return false;
			for (size_t i = 0; i < n; i++) {
				y[i] = i % 2 ? 0xf3 : 0;
				if (sign(fn_strcmp((char *)x, (char *)y)) !=
				    (i % 2 ? -1 : 1))
					return false;
				y[i] = 'c';
			}
		}
	return true;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} tests[] = {
		{ "memcpy of every length to 300 at every alignment", short_copies },
		{ "memmove over itself in both directions", short_overlaps },
		{ "nothing is touched beyond the last byte", edge_of_memory },
		{ "memcpy around the size from which it goes past the caches",
		  large_copies },
		{ "memmove of megabytes over itself", large_overlaps },
		{ "memcmp finds every first difference and its sign", compares },
		{ "strlen and memchr find every end", finds_ends },
		{ "strcmp finds every first difference and its sign", orders },
	};
	enum { N = sizeof(tests) / sizeof(*tests) };
	bool good = true;

	printf("1..%d\n", N);
	for (int i = 0; i < N; i++) {
		bool ok = tests[i].run();

		printf("%sok %d - %s\n", ok ? "" : "not ", i + 1, tests[i].name);
		good = good && ok;
	}
	return !good;
}
