/* Compresses the body of a message: ipc.h. */
#include <stdlib.h>
#include <string.h>

#include "arrow/ipc.h"
#include "arrow/ipc_format.h"
#include "arrow/lz4.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "base/zstd.h"

struct packing {
	enum ipc_codec codec;
	struct zstd_frame *zstd;
	uint8_t *to;
	uint64_t len;
};

static uint64_t bound(enum ipc_codec codec, uint64_t len)
{
	return codec == IPC_ZSTD ? zstd_frame_bound(len) : lz4_frame_bound(len);
}

static uint64_t compress(struct packing *p, uint8_t *to, const uint8_t *from,
			 uint64_t len)
{
	return p->codec == IPC_ZSTD ? zstd_frame(&p->zstd, to, from, len)
				    : lz4_frame(to, from, len);
}

/*
 * Compress a buffer, with its uncompressed length before it; or store it after -1 if that
 * is shorter. An empty buffer stays empty.
 */
static uint64_t pack(struct packing *p, const uint8_t *from, uint64_t len)
{
	uint8_t *to = p->to + p->len;
	int64_t inside = (int64_t)len;
	uint64_t n;

	if (!len)
		return 0;
	n = compress(p, to + sizeof(inside), from, len);
	if (n >= len) {
		memcpy(to + sizeof(inside), from, len);
		inside = -1;
		n = len;
	}
	memcpy(to, &inside, sizeof(inside));
	return sizeof(inside) + n;
}

static void pack_part(struct packing *p, const uint8_t *plain, struct ipc_part *part)
{
	uint64_t n = pack(p, plain + part->at, part->len), rest = -n % IPC_ALIGN;

	part->at = p->len;
	part->len = n;
	memset(p->to + p->len + n, 0, rest);
	p->len += n + rest;
}

void ipc_pack(struct ipc_plan *p, enum ipc_codec codec)
{
	cleanup_free uint8_t *plain = NULL;
	struct packing packing = { .codec = codec };
	uint64_t most = 1;

	if (codec == IPC_PLAIN)
		return;
	plain = xmalloc(p->body + 1);
	ipc_body(p, plain);
	for (size_t i = 0; i < p->n_parts; i++)
		most += sizeof(int64_t) + bound(codec, p->parts[i].len) + IPC_ALIGN;
	packing.to = xmalloc(most);
	for (size_t i = 0; i < p->n_parts; i++)
		pack_part(&packing, plain, &p->parts[i]);
	zstd_frame_free(packing.zstd);
	p->packed = packing.to;
	p->body = packing.len;
	p->codec = codec;
	ipc_plan_metadata(p);
}
