/* Flight's messages and tickets of any bytes: what is handed out lies within them. */
#include <string.h>

#include "base/cleanup.h"
#include "cache/flight.h"
#include "cache/index.h"
#include "cache/ticket.h"
#include "tests/fuzz/fuzz.h"

static void check(struct iovec part, const uint8_t *data, size_t size)
{
	const uint8_t *at = part.iov_base;

	FUZZ_CHECK(!part.iov_len || (at >= data && at + part.iov_len <= data + size));
}

static void check_index(struct iovec message)
{
	cleanup_arena struct arena arena = { 0 };
	struct index index = { 0 };
	struct error err = { 0 };
	bool done;

	if (index_read(&index, message, &done, &arena, &err))
		return;
	FUZZ_CHECK(index.first >= 0 && (done || !index.n_files));
	for (size_t i = 0; i < index.n_files; i++)
		FUZZ_CHECK(strlen(index.files[i]) < message.iov_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iovec message = { (void *)(uintptr_t)data, size }, part;
	struct descriptor d;
	struct ticket t, again;
	struct error err = { 0 };
	char type[FLIGHT_ACTION_MAX];
	uint8_t ticket[TICKET_MAX];

	if (!descriptor_read(&d, message, &err)) {
		check(d.command, data, size);
		for (size_t i = 0; i < d.n_path; i++)
			check(d.path[i], data, size);
	}
	if (!flight_ticket(&part, message, &err))
		check(part, data, size);
	if (!flight_action(type, &part, message, &err)) {
		check(part, data, size);
		FUZZ_CHECK(strlen(type) < FLIGHT_ACTION_MAX);
	}
	if (!ticket_read(&t, message, &err)) {
		check(t.view, data, size);
		check(t.table, data, size);
		part = (struct iovec){ ticket, ticket_write(ticket, t.rows) };
		FUZZ_CHECK(t.rows.first >= 0 && t.rows.first <= t.rows.end);
		FUZZ_CHECK(!ticket_read(&again, part, &err));
		FUZZ_CHECK(again.rows.first == t.rows.first &&
			   again.rows.end == t.rows.end);
	}
	check_index(message);
	return 0;
}
