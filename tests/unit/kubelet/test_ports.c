#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kubelet/holders.h"
#include "kubelet/ports.h"
#include "tests/unit/unit.h"

enum { MANY = 200 };

/* No two reservations are the same, and nobody listens on any of them. */
TEST(test_ports_are_different)
{
	int ports[MANY], locks[MANY];
	struct error err = { 0 };

	for (int i = 0; i < MANY; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		assert_int_equal(ports_reserve(&ports[i], &locks[i], &err), 0);
		a.sin_port = htons((uint16_t)ports[i]);
		assert_int_equal(bind(fd, (const void *)&a, sizeof(a)), 0);
		close(fd);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(ports[i], ports[j]);
	}
	for (int i = 0; i < MANY; i++)
		close(locks[i]);
}

/* Without descriptors nothing can be reserved, and no other number is looked for. */
#define WHY "; check 'ulimit -n': %s"
TEST(test_no_descriptors)
{
	cleanup_arena struct arena arena = { 0 };
	struct rlimit old, few;
	char block[PORT_ADDRESS_SIZE];
	struct error err = { 0 };
	int next = dup(0), port, lock;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int i = 0; i < 2; i++) {
		few = (struct rlimit){ (rlim_t)(next + i), old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(ports_reserve(&port, &lock, &err), -1);
		assert_string_equal(err.msg,
				    arena_printf(&arena, "cannot reserve a port" WHY,
						 strerror(EMFILE)));
		assert_int_equal(ports_reserve_addresses(block, &lock, &err), -1);
		assert_string_equal(err.msg, arena_printf(&arena,
							  "cannot reserve loopback "
							  "addresses" WHY,
							  strerror(EMFILE)));
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	}
}

/* What another process holds is not given, and is free when that process is gone. */
TEST(test_between_processes)
{
	char block[PORT_ADDRESS_SIZE], theirs[PORT_ADDRESS_SIZE] = "";
	struct error err = { 0 };
	int lock, in[2], out[2];
	pid_t pid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		if (ports_reserve_addresses(block, &lock, &err) < 0 ||
		    write(out[1], block, sizeof(block)) < 0)
			_exit(1);
		close(in[1]);
		_exit((int)read(in[0], block, 1));
	}
	assert_int_equal(read(out[0], theirs, sizeof(theirs)), sizeof(theirs));
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(ports_reserve_addresses(block, &lock, &err), 0);
		assert_string_not_equal(block, theirs);
		close(lock);
	}
	close(in[1]);
	close(in[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(out[0]);
	close(out[1]);
}

TEST(test_blocks_answer)
{
	char block[PORT_ADDRESS_SIZE], text[32];
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct error err = { 0 };
	int lock, fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(ports_reserve_addresses(block, &lock, &err), 0);
	assert_true(str_starts(block, "127."));
	assert_false(str_starts(block, "127.0."));
	snprintf(text, sizeof(text), "%s254", block);
	assert_int_equal(inet_pton(AF_INET, text, &a.sin_addr), 1);
	assert_int_equal(bind(fd, (const void *)&a, sizeof(a)), 0);
	close(fd);
	close(lock);
}

/* Another user takes the names of the machine's GPUs, and runs nothing. */
TEST(test_holders)
{
	char text[HOLDERS_TEXT_SIZE];
	int in[2], out[2], own;
	pid_t pid;
	char c;

	own = ports_reserve_gpu("GPU-own");
	assert_true(own >= 0);
	assert_int_equal(ports_reserve_gpu("GPU-own"), -1);
	assert_string_equal(holders_text("gpu", text), "");
	if (geteuid())
		skip(); /* only root can be somebody else */
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		close(in[1]);
		_exit(setresuid(65534, 65534, 65534) || ports_reserve_gpu("GPU-1") < 0 ||
		      ports_reserve_gpu("GPU-2") < 0 || write(out[1], "", 1) < 0 ||
		      read(in[0], &c, 1) < 0);
	}
	close(out[1]);
	assert_int_equal(read(out[0], &c, 1), 1);
	assert_int_equal(ports_reserve_gpu("GPU-1"), -1);
	assert_string_equal(holders_text("gpu", text), "; user 65534 holds 2 of them");
	assert_string_equal(holders_text("port", text), "");
	close(in[1]);
	close(in[0]);
	close(out[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_string_equal(holders_text("gpu", text), "");
	close(own);
}

TEST(test_replace)
{
	static const struct {
		const char *name, *value, *want;
	} rows[] = {
		{ "PET_MASTER_PORT", "29500", "31000" },
		{ "PET_MASTER_PORT", "29501", "29501" },
		{ "PET_MASTER_PORT", "129500", "129500" },
		{ "DMLC_TRACKER_PORT", "29500", "31000" },
		{ "JAX_COORDINATOR_ADDRESS", "j-node-0-0.j:29500", "j-node-0-0.j:31000" },
		{ "JAX_COORDINATOR_ADDRESS", "29500", "29500" },
		{ "JAX_COORDINATOR_ADDRESS", "h:129500", "h:129500" },
		{ "PORT", "29500", "29500" },
		{ "MASTER_PORT", "29500", "31000" },
		{ "WORKER_PORT", "29500", "31000" },
		{ "COORDINATOR_PORT", "29500", "31000" },
		{ "PET_RDZV_ENDPOINT", "j-node-0-0.j:29500", "j-node-0-0.j:31000" },
		{ "PADDLE_MASTER", "j-node-0-0.j:36543", "j-node-0-0.j:31000" },
		{ "PADDLE_MASTER", "etcd://here:2379", "etcd://here:2379" },
		{ NULL, "--rdzv_endpoint=j-node-0-0.j:29500",
		  "--rdzv_endpoint=j-node-0-0.j:31000" },
		{ NULL, "--rdzv_endpoint=j:29500 ", "--rdzv_endpoint=j:29500 " },
		{ NULL, "--port=29500", "--port=29500" },
		{ NULL, "29500", "29500" },
		{ NULL, "lr=0.29500", "lr=0.29500" },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(
			port_replace(&arena, rows[i].name, rows[i].value, 29500, 31000),
			rows[i].want);
}

RUN_TESTS(NULL, NULL)
