/*
 * helper.h - the process that calls NVIDIA's libraries for this one (wire.h).
 *
 * A static program cannot load them. The helper is a dynamic program, embedded in this
 * one, and started from memory, or from an unlinked file in TMPDIR where the kernel
 * forbids that (vm.memfd_noexec=2). It ends with its parent. Whatever a library does to
 * it, hang, abort or crash, becomes one error with the names of the library and the call;
 * the helper is gone then, and gpu_helper_start() starts another.
 */
#ifndef GPU_HELPER_H
#define GPU_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "gpu/wire.h"

struct gpu_helper {
	pid_t pid; /* 0: none runs */
	int socket;
	struct gpu_shared *shared;
	uint8_t *pinned; /* what gpu_helper_start_pinned() added to it */
	size_t size;     /* of both */
	uint32_t seq;
	int64_t call_ms;  /* how long one call of a library may take */
	int64_t deadline; /* clock_ms() after which it is ended, too; 0: none */
};

/* ERR_NOT_FOUND: no glibc 2.34 here; ERR_DENIED: no place to run it from. */
MUST_CHECK int gpu_helper_start(struct gpu_helper *h, int64_t call_ms, struct error *err);

/*
 * The same, with so many bytes of memory that GPU_OP_FEED_OPEN pins: zeroed, at `pinned`.
 * Whatever happens to the helper they stay until gpu_helper_unpin(), after its end.
 */
MUST_CHECK int gpu_helper_start_pinned(struct gpu_helper *h, int64_t call_ms,
				       size_t pinned, struct error *err);
void gpu_helper_unpin(struct gpu_helper *h); /* { 0 } is fine */

/*
 * Ask, and wait for the answer. Only version and seq of the request are filled in here.
 * ERR_NOT_FOUND: the library or a symbol of it is absent; ERR_IO: the call failed (err->code is what it returned), or the helper died; ERR_TIMEOUT.
 */
MUST_CHECK int gpu_helper_call(struct gpu_helper *h, const struct gpu_request *request,
			       cJSON **ret, struct error *err);

/* End it, also when it hangs; none is fine. */
void gpu_helper_stop(struct gpu_helper *h);
#define cleanup_gpu_helper __attribute__((cleanup(gpu_helper_stop)))

/* A reply's bytes: the result, or the error that it reports. */
MUST_CHECK int gpu_reply_parse(cJSON **ret, const void *data, size_t len, uint32_t seq,
			       struct error *err);

#endif
