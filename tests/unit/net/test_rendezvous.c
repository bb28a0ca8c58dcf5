/* Nodes that connect on loopback, among connections that send nothing. */
#include "net/rendezvous.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/base/base_test.h"

enum { PREAUTH = 300, PLACES = 256, DEADLINE_MS = 60000 };

struct node {
	uint32_t rank;
	int port;
	const char *hello;
	bool other_key;
	int rc;
	struct error err;
	cJSON *heard;
	pthread_t thread;
};

/* Nobody listens there now. */
static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static void setup_node(struct rendezvous *m, uint32_t rank, int port)
{
	*m = (struct rendezvous){ .n = 3,
				  .rank = rank,
				  .host = "127.0.0.1",
				  .port = port,
				  .deadline = clock_ms() + DEADLINE_MS };
	memset(m->key, 7, sizeof(m->key));
}

static void *node_main(void *ctx)
{
	struct node *n = ctx;
	struct rendezvous m;
	cleanup_json cJSON *hello = doc_of(n->hello);

	setup_node(&m, n->rank, n->port);
	m.key[0] += n->other_key;
	n->rc = rendezvous_open(&m, hello, NULL, &n->err) ||
		rendezvous_receive(&m, 0, &n->heard, &n->err);
	rendezvous_close(&m);
	return NULL;
}

static void node_start(struct node *n)
{
	assert_int_equal(pthread_create(&n->thread, NULL, node_main, n), 0);
}

static int connect_to(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		clock_sleep_ms(5);
	return fd;
}

/* Who connects to rank 0, in this order: strangers, an impostor, the nodes 1 and 2. */
struct scene {
	int port, preauth, fds[PREAUTH];
	struct node *impostor; /* or NULL */
	struct node nodes[2];
};

static void *scene_main(void *ctx)
{
	struct scene *s = ctx;

	for (int i = 0; i < s->preauth; i++)
		s->fds[i] = connect_to(s->port);
	if (s->impostor) {
		node_start(s->impostor);
		pthread_join(s->impostor->thread, NULL);
	}
	node_start(&s->nodes[0]);
	node_start(&s->nodes[1]);
	return NULL;
}

struct refusals {
	int waiting, other;
	char last[sizeof(((struct error *)NULL)->msg)];
};

static void count_refusal(void *ctx, const char *peer, const char *why)
{
	struct refusals *r = ctx;

	assert_string_equal(peer, "127.0.0.1");
	if (strstr(why, "others are waiting"))
		r->waiting++;
	else
		r->other++;
	snprintf(r->last, sizeof(r->last), "%s", why);
}

/* Rank 0: both nodes must come, whoever else does. */
static void play(struct scene *s, struct refusals *r)
{
	struct error err = { 0 };
	cJSON *hellos[3] = { 0 };
	cleanup_json cJSON *doc = doc_of("{\"go\":true}");
	pthread_t thread;
	struct rendezvous m;

	s->port = free_port();
	for (uint32_t i = 0; i < 2; i++)
		s->nodes[i] = (struct node){ .rank = i + 1,
					     .port = s->port,
					     .hello = i ? "{\"rank\":2}"
							: "{\"rank\":1,\"a\":1}" };
	if (s->impostor)
		s->impostor->port = s->port;
	setup_node(&m, 0, s->port);
	m.refused = count_refusal;
	m.ctx = r;
	assert_int_equal(pthread_create(&thread, NULL, scene_main, s), 0);
	assert_int_equal(rendezvous_open(&m, NULL, hellos, &err), 0);
	pthread_join(thread, NULL);
	assert_null(hellos[0]);
	check_int("a of rank 1", json_int(hellos[1], 0, "a"), 1);
	check_int("rank of rank 2", json_int(hellos[2], 0, "rank"), 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct node *n = &s->nodes[i];

		assert_int_equal(rendezvous_send(&m, n->rank, doc, &err), 0);
		pthread_join(n->thread, NULL);
		check_text("node", n->rc ? n->err.msg : NULL, NULL);
		assert_true(json_bool(n->heard, false, "go"));
		cJSON_Delete(n->heard);
		cJSON_Delete(hellos[n->rank]);
	}
	rendezvous_close(&m);
	for (int i = 0; i < s->preauth; i++)
		close(s->fds[i]);
}

/* One after another, they would have had 5 s each. */
TEST(test_silent_connections)
{
	struct scene s = { .preauth = PREAUTH };
	struct refusals r = { 0 };

	play(&s, &r);
	assert_true(r.waiting >= PREAUTH - PLACES);
}

/* Those that are refused do not take the place of the one that is expected. */
TEST(test_impostors)
{
	static const struct {
		const char *hello;
		bool other_key;
		const char *why;
	} rows[] = {
		{ "{\"rank\":0}", false, "rank 0: not expected" },
		{ "{\"rank\":3}", false, "rank 3: not expected" },
		{ "{\"rank\":-1}", false, "rank -1: not expected" },
		{ "{}", false, "rank -1: not expected" },
		{ "{\"rank\":1}", true, "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct node impostor = { .rank = 1,
					 .hello = rows[i].hello,
					 .other_key = rows[i].other_key };
		struct scene s = { .impostor = &impostor };
		struct refusals r = { 0 };

		play(&s, &r);
		check_int(rows[i].hello, r.other, 1);
		assert_non_null(strstr(r.last, rows[i].why));
		assert_int_not_equal(impostor.rc, 0);
	}
}

RUN_TESTS(NULL, NULL)
