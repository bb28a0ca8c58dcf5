/*
 * What an exec plugin prints is a credential or refused with words: a token is one line, a
 * certificate has its key.
 */
#include <string.h>

#include "base/cleanup.h"
#include "kube/exec.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf out = { .max = 1024 * 1024 };
	struct kube_credential got = { 0 };
	struct error err = { 0 };

	buf_add(&out, data, size);
	buf_adds(&out, ""); /* plugins may print nothing */
	if (exec_decode(&got, &out, "client.authentication.k8s.io/v1", &err)) {
		FUZZ_CHECK(err.kind && *err.msg && !got.token && !got.key_pem);
		return 0;
	}
	FUZZ_CHECK(got.token || got.cert_pem);
	FUZZ_CHECK(!got.token || (*got.token && !strpbrk(got.token, "\r\n")));
	FUZZ_CHECK(!got.cert_pem == !got.key_pem);
	kube_credential_release(&got);
	return 0;
}
