/*
 * helper.h - a helper process that calls NVIDIA's libraries for this one (wire.h).
 *
 * A static program cannot load the libraries. The helper is a dynamic program, embedded
 * in this one, and started from memory, or from an unlinked file in TMPDIR if the kernel
 * forbids that (vm.memfd_noexec=2). It ends with its parent. If a library hangs, aborts
 * or crashes, the caller gets one error with the names of the library and the call; the
 * helper has then ended, and gpu_helper_start() starts another.
 */
#ifndef GPU_HELPER_H
#define GPU_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "gpu/wire.h"

struct gpu_helper {
	pid_t pid; /* 0: no helper runs */
	int socket;
	struct gpu_shared *shared;
	uint8_t *pinned; /* memory of gpu_helper_start_pinned() */
	size_t size;     /* bytes of the shared memory, with the pinned part */
	uint32_t seq;
	int64_t call_ms;  /* limit of one call of a library */
	int64_t deadline; /* clock_ms() after which the helper is killed; 0: none */
};

/* ERR_NOT_FOUND: this machine has no glibc 2.34; ERR_DENIED: it cannot be executed. */
MUST_CHECK int gpu_helper_start(struct gpu_helper *h, int64_t call_ms, struct error *err);

/*
 * The same, with `pinned` bytes of zeroed memory at h->pinned, which GPU_OP_FEED_OPEN
 * pins. The memory stays valid, even if the helper dies, until gpu_helper_unpin(), which
 * must follow the helper's end.
 */
MUST_CHECK int gpu_helper_start_pinned(struct gpu_helper *h, int64_t call_ms,
				       size_t pinned, struct error *err);
void gpu_helper_unpin(struct gpu_helper *h); /* unmaps the memory; { 0 } is fine */

/*
 * Sends a request and waits for the reply, which the caller owns. Sets version and seq
 * of the request itself. ERR_NOT_FOUND: the library or a symbol is missing; ERR_IO: the
 * call failed (err->code is its result), or the helper died; ERR_TIMEOUT: it was killed.
 */
MUST_CHECK int gpu_helper_call(struct gpu_helper *h, const struct gpu_request *request,
			       cJSON **ret, struct error *err);

/* Ends the helper, even if it hangs; does nothing if none runs. */
void gpu_helper_stop(struct gpu_helper *h);
#define cleanup_gpu_helper __attribute__((cleanup(gpu_helper_stop)))

/* Parse a reply: the result, or the error that it reports. */
MUST_CHECK int gpu_reply_parse(cJSON **ret, const void *data, size_t len, uint32_t seq,
			       struct error *err);

#endif
