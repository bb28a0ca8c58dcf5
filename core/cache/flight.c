/* flight.c - encodes and decodes Arrow Flight's messages (cache/flight.h). */
#include "cache/flight.h"

#include <stdio.h>
#include <string.h>

#include "arrow/ipc.h"
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "cache/ticket.h"

enum { DESCRIPTOR_TYPE = 1, DESCRIPTOR_COMMAND, DESCRIPTOR_PATH };
enum { TYPE_PATH = 1, TYPE_COMMAND };
enum { INFO_ENDPOINT = 3 };
enum { ENDPOINT_TICKET = 1, ENDPOINT_LOCATION, ENDPOINT_METADATA = 4 };

#define COMPRESSION "arrow-flight-compression"

static struct iovec bytes_of(const struct pb_field *f)
{
	return (struct iovec){ (void *)(uintptr_t)f->data, f->len };
}

int descriptor_read(struct descriptor *ret, struct iovec message, struct error *err)
{
	struct pb_reader r = pb_read(message.iov_base, message.iov_len);
	struct descriptor d = { 0 };
	struct pb_field f;

	while (pb_more(&r)) {
		if (pb_next(&r, &f, err))
			return -1;
		if (f.number == DESCRIPTOR_TYPE) {
			d.is_path = f.value == TYPE_PATH;
			d.is_command = f.value == TYPE_COMMAND;
		} else if (f.number == DESCRIPTOR_COMMAND) {
			d.command = bytes_of(&f);
		} else if (f.number == DESCRIPTOR_PATH && d.n_path < 2) {
			d.path[d.n_path++] = bytes_of(&f);
		}
	}
	*ret = d;
	return 0;
}

void descriptor_write(struct buf *out, const char *rank, const char *world)
{
	pb_put_uint(out, DESCRIPTOR_TYPE, TYPE_PATH);
	pb_put_str(out, DESCRIPTOR_PATH, rank);
	pb_put_str(out, DESCRIPTOR_PATH, world);
}

int flight_data(struct bytes *ret_metadata, struct bytes *ret_body, struct iovec message,
		struct error *err)
{
	struct iovec header, body;

	if (pb_bytes(&header, message, DATA_HEADER, err) ||
	    pb_bytes(&body, message, DATA_BODY, err))
		return -1;
	*ret_metadata = (struct bytes){ header.iov_base, header.iov_len };
	*ret_body = (struct bytes){ body.iov_base, body.iov_len };
	return 0;
}

int flight_ticket(struct iovec *ret, struct iovec message, struct error *err)
{
	return pb_bytes(ret, message, 1, err);
}

int flight_action(char ret_type[FLIGHT_ACTION_MAX], struct iovec *ret_body,
		  struct iovec message, struct error *err)
{
	struct iovec type;
	size_t n;

	if (pb_bytes(&type, message, 1, err) || pb_bytes(ret_body, message, 2, err))
		return -1;
	n = type.iov_len < FLIGHT_ACTION_MAX ? type.iov_len : 0;
	if (n)
		memcpy(ret_type, type.iov_base, n);
	ret_type[n] = 0;
	return 0;
}

void flight_endpoint(struct buf *info, struct flight_location at,
		     const struct ticket *what)
{
	cleanup_buf struct buf e = { .max = SIZE_MAX / 2 }, location = { .max = 2048 };
	cleanup_buf struct buf uri = { .max = 1024 };
	cleanup_buf struct buf ticket = { .max = SIZE_MAX / 2 },
			       t = { .max = SIZE_MAX / 2 };

	buf_printf(&uri, strchr(at.host, ':') ? "%s[%s]:%d" : "%s%s:%d", at.scheme,
		   at.host, at.port);
	ticket_add(&ticket, what);
	pb_put_bytes(&t, 1, ticket.data, ticket.len);
	pb_put_bytes(&location, 1, uri.data, uri.len);
	pb_put_bytes(&e, ENDPOINT_TICKET, t.data, t.len);
	pb_put_bytes(&e, ENDPOINT_LOCATION, location.data, location.len);
	pb_put_bytes(&e, ENDPOINT_METADATA, ticket.data, ticket.len);
	pb_put_bytes(info, INFO_ENDPOINT, e.data, e.len);
}

void flight_result(struct grpc_call *call, const char *text)
{
	cleanup_buf struct buf out = { .max = SIZE_MAX / 2 };

	pb_put_str(&out, 1, text);
	grpc_send(call, out.data, out.len);
}

bool flight_message(struct grpc_call *call, struct iovec *ret)
{
	if (grpc_next(call, ret))
		return true;
	grpc_fail(call, GRPC_INTERNAL, "the request has no message");
	return false;
}

/* Read the codec from a header: Flight has no field for it. */
bool flight_codec(struct grpc_call *call, enum ipc_codec *ret)
{
	static const char *const words[] = { "none", "lz4", "zstd" };
	const char *word = grpc_metadata(call, COMPRESSION);

	for (int codec = IPC_PLAIN; codec <= IPC_ZSTD; codec++)
		if (str_eq(words[codec], word ? word : "none")) {
			*ret = (enum ipc_codec)codec;
			return true;
		}
	grpc_fail(call, GRPC_INVALID_ARGUMENT,
		  COMPRESSION " is '%.100s', not none, lz4 or zstd", word);
	return false;
}

void flight_schema(struct buf *out, uint32_t number, const struct field *fields, size_t n,
		   struct ipc_form form)
{
	cleanup_buf struct buf metadata = { .max = SIZE_MAX / 2 };
	cleanup_buf struct buf framed = { .max = SIZE_MAX / 2 };

	ipc_schema(&metadata, fields, n, form);
	ipc_frame(&framed, metadata.data, metadata.len);
	pb_put_bytes(out, number, framed.data, framed.len);
}
