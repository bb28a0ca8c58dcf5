/* frame.c - encode and decode frames, without I/O (mpi/frame.h). */
#include "mpi/frame.h"

#include <string.h>

/* The size limits of each type's contents. */
static const struct {
	uint32_t min, max;
} sizes[] = {
	[FRAME_COMMAND] = { 1, FRAME_MAX },
	[FRAME_STDIN] = { 1, FRAME_MAX },
	[FRAME_STDOUT] = { 1, FRAME_MAX },
	[FRAME_STDERR] = { 1, FRAME_MAX },
	[FRAME_END] = { 1, 1 },
	[FRAME_CREDIT] = { 5, 5 },
	[FRAME_SIGNAL] = { 1, 1 },
	[FRAME_EXIT] = { 5, 5 },
};
enum { N_TYPES = N_ELEMENTS(sizes), COMMAND_HEADER = 5 };

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static bool is_stream(unsigned type)
{
	return type >= FRAME_STDIN && type <= FRAME_STDERR;
}

int frame_decode(struct frame *ret, size_t *ret_used, const void *data, size_t len,
		 struct error *err)
{
	const unsigned char *p = data;
	struct frame f;

	*ret_used = 0;
	if (len < 1)
		return 0;
	if (p[0] < FRAME_COMMAND || p[0] >= N_TYPES)
		return error_set(err, ERR_FORMAT, "unknown frame type %d", p[0]);
	if (len < FRAME_HEADER)
		return 0;
	f = (struct frame){ p[0], p + FRAME_HEADER, get32(p + 1) };
	if (f.len < sizes[f.type].min || f.len > sizes[f.type].max)
		return error_set(err, ERR_FORMAT, "invalid frame: type %d with %u bytes",
				 f.type, f.len);
	if (len - FRAME_HEADER < f.len)
		return 0;
	if ((f.type == FRAME_END || f.type == FRAME_CREDIT) && !is_stream(f.data[0]))
		return error_set(err, ERR_FORMAT, "frame for unknown stream %d",
				 f.data[0]);
	*ret = f;
	*ret_used = FRAME_HEADER + f.len;
	return 0;
}

static void add_header(struct buf *out, enum frame_type type, size_t len)
{
	unsigned char header[FRAME_HEADER] = { (unsigned char)type };

	put32(header + 1, (uint32_t)len);
	buf_add(out, header, sizeof(header));
}

void frame_add(struct buf *out, enum frame_type type, const void *data, size_t len)
{
	add_header(out, type, len);
	buf_add(out, data, len);
}

void frame_add_command(struct buf *out, const char *command)
{
	unsigned char header[COMMAND_HEADER] = { FRAME_VERSION };
	size_t left = strlen(command), first = FRAME_MAX - COMMAND_HEADER;

	put32(header + 1, (uint32_t)left);
	if (first > left)
		first = left;
	add_header(out, FRAME_COMMAND, COMMAND_HEADER + first);
	buf_add(out, header, sizeof(header));
	buf_add(out, command, first);
	for (command += first, left -= first; left;) {
		size_t n = left < FRAME_MAX ? left : FRAME_MAX;

		frame_add(out, FRAME_COMMAND, command, n);
		command += n;
		left -= n;
	}
}

void frame_add_end(struct buf *out, enum frame_type stream)
{
	frame_add(out, FRAME_END, &(unsigned char){ (unsigned char)stream }, 1);
}

static void add_number(struct buf *out, enum frame_type type, unsigned char first,
		       uint32_t n)
{
	unsigned char data[5] = { first };

	put32(data + 1, n);
	frame_add(out, type, data, sizeof(data));
}

void frame_add_credit(struct buf *out, enum frame_type stream, uint32_t n)
{
	add_number(out, FRAME_CREDIT, (unsigned char)stream, n);
}

void frame_add_signal(struct buf *out, int signum)
{
	frame_add(out, FRAME_SIGNAL, &(unsigned char){ (unsigned char)signum }, 1);
}

void frame_add_exit(struct buf *out, enum frame_exit how, uint32_t code)
{
	add_number(out, FRAME_EXIT, (unsigned char)how, code);
}

enum frame_type frame_stream(const struct frame *f)
{
	return f->data[0];
}

uint32_t frame_number(const struct frame *f)
{
	return f->len == 1 ? f->data[0] : get32(f->data + 1);
}

static int begin_command(struct frame_command *c, const struct frame *f,
			 struct error *err)
{
	if (f->data[0] != FRAME_VERSION)
		return error_set(err, ERR_UNSUPPORTED,
				 "protocol version %d is not supported; this program has "
				 "version %d",
				 f->data[0], FRAME_VERSION);
	if (f->len < COMMAND_HEADER)
		return error_set(err, ERR_FORMAT, "invalid command: no length");
	c->announced = get32(f->data + 1);
	c->begun = true;
	if (c->announced > FRAME_COMMAND_MAX)
		return error_set(err, ERR_LIMIT,
				 "the command has %u bytes; the limit is %d",
				 c->announced, FRAME_COMMAND_MAX);
	return 0;
}

int frame_take_command(struct frame_command *c, const struct frame *f, bool *ret_done,
		       struct error *err)
{
	size_t skip = c->begun ? 0 : COMMAND_HEADER;

	if (!c->begun && begin_command(c, f, err))
		return -1;
	if (f->len - skip > c->announced - c->text.len)
		return error_set(err, ERR_FORMAT,
				 "invalid command: longer than announced");
	if (memchr(f->data + skip, 0, f->len - skip))
		return error_set(err, ERR_FORMAT, "invalid command: contains a NUL byte");
	buf_add(&c->text, f->data + skip, f->len - skip);
	if (buf_check(&c->text, "the command", err))
		return -1;
	*ret_done = c->text.len == c->announced;
	return 0;
}
