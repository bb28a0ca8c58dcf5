/* The lists of a pod template, by their merge keys (core/v1): trainer/podspec.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/podspec.h"

/* A function that edits, on an object; what comes out. */
#define EDITED(from, call, want)                   \
	do {                                       \
		cleanup_json cJSON *o = doc(from); \
                                                   \
		call;                              \
		assert_doc(o, want);               \
	} while (0)

TEST(test_volumes)
{
	EDITED("{}", pod_set_volume(o, doc("{name: a}")), "{volumes: [{name: a}]}");
	EDITED("{volumes: [{name: a, emptyDir: {}}, {name: b}]}",
	       pod_set_volume(o, doc("{name: a, secret: {}}")),
	       "{volumes: [{name: a, secret: {}}, {name: b}]}");
	EDITED("{volumes: [{name: a}, {name: b}]}", pod_drop_volume(o, "a"),
	       "{volumes: [{name: b}]}");
	EDITED("{volumes: [{name: a}]}", pod_drop_volume(o, "none"),
	       "{volumes: [{name: a}]}");
	EDITED("{}", pod_drop_volume(o, "a"), "{}");
}

TEST(test_what_mounts)
{
	static const struct {
		const char *pod;
		bool mounts, has;
	} rows[] = {
		{ "{}", false, false },
		{ "{volumes: [{name: v}]}", false, true },
		{ "{volumes: [{name: w}], containers: [{volumeMounts: [{name: w}]}]}",
		  false, false },
		{ "{containers: [{name: a}, {volumeMounts: [{name: w}, {name: v}]}]}",
		  true, false },
		{ "{containers: [{name: a}], initContainers: [{volumeMounts: [{name: "
		  "v}]}], volumes: [{name: w}, {name: v}]}",
		  true, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *spec = doc(rows[i].pod);

		if (pod_mounts(spec, "v") != rows[i].mounts ||
		    pod_has_volume(spec, "v") != rows[i].has)
			fail_msg("%s", rows[i].pod);
	}
}

TEST(test_mounts)
{
	EDITED("{}", container_mount(o, "v", "/p", false),
	       "{volumeMounts: [{name: v, mountPath: /p}]}");
	/* by the path, not by the volume */
	EDITED("{volumeMounts: [{name: v, mountPath: /p}, {name: w, mountPath: /q}]}",
	       container_mount(o, "w", "/p", true),
	       "{volumeMounts: [{name: w, mountPath: /p, readOnly: true}, {name: w, "
	       "mountPath: /q}]}");
	EDITED("{volumeMounts: [{name: v, mountPath: /p}, {name: w, mountPath: /q}, "
	       "{name: v, mountPath: /r}]}",
	       container_drop_mount(o, "v"),
	       "{volumeMounts: [{name: w, mountPath: /q}]}");
}

TEST(test_working_directories)
{
	EDITED("{}", container_default_workdir(o, "/w"), "{workingDir: /w}");
	EDITED("{workingDir: ''}", container_default_workdir(o, "/w"),
	       "{workingDir: /w}");
	EDITED("{workingDir: /a}", container_default_workdir(o, "/w"),
	       "{workingDir: /a}");
	EDITED("{workingDir: /a}", container_move_workdir(o, "/a", "/b"),
	       "{workingDir: /b}");
	EDITED("{workingDir: /a/b}", container_move_workdir(o, "/a", "/b"),
	       "{workingDir: /a/b}");
	EDITED("{}", container_move_workdir(o, "/a", "/b"), "{}");
}

TEST(test_variables)
{
	EDITED("{env: [{name: A, value: a}, {name: B}]}", container_set_env(o, "A", "b"),
	       "{env: [{name: A, value: b}, {name: B}]}");
	EDITED("{env: [{name: A, value: a}]}", container_default_env(o, "A", "b"),
	       "{env: [{name: A, value: a}]}");
	EDITED("{env: [{name: A}]}", container_default_env(o, "B", "b"),
	       "{env: [{name: A}, {name: B, value: b}]}");
	EDITED("{volumes: [{name: A}, {name: B}, {name: A}]}", pod_drop_volume(o, "A"),
	       "{volumes: [{name: B}]}");
	EDITED("{volumes: [{name: A}]}", pod_drop_volume(o, "C"),
	       "{volumes: [{name: A}]}");
	EDITED("{}", pod_drop_volume(o, "A"), "{}");
	EDITED("{}", container_set_env_int(o, "COUNT", INT64_MIN),
	       "{env: [{name: COUNT, value: '-9223372036854775808'}]}");
}

TEST(test_search_domains)
{
	EDITED("{}", pod_add_search(o, "a.b"), "{dnsConfig: {searches: [a.b]}}");
	EDITED("{dnsConfig: {searches: [c]}}", pod_add_search(o, "a.b"),
	       "{dnsConfig: {searches: [c, a.b]}}");
	EDITED("{dnsConfig: {searches: [a.b, c]}}", pod_add_search(o, "a.b"),
	       "{dnsConfig: {searches: [a.b, c]}}");
}

TEST(test_init_containers)
{
	cleanup_json cJSON *spec =
		doc("{initContainers: [{name: a}, {name: b}], containers: [{name: c}]}");

	assert_non_null(pod_any_container(spec, "a"));
	assert_non_null(pod_any_container(spec, "c"));
	assert_null(pod_any_container(spec, "d"));
	assert_null(pod_container(spec, "a"));
	assert_null(pod_init_container(spec, "c"));
	pod_drop_init_container(spec, "a");
	pod_drop_init_container(spec, "c");
	assert_doc(spec, "{initContainers: [{name: b}], containers: [{name: c}]}");
}

/* What the strictest of the Pod Security Standards asks of a container, and back. */
TEST(test_rights)
{
	EDITED("{name: a}", container_harden(o),
	       "{name: a, securityContext: {allowPrivilegeEscalation: false, "
	       "capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}}");
	EDITED("{name: a, securityContext: {runAsUser: 0}}", container_soften(o),
	       "{name: a}");
	EDITED("{name: a}", container_log_on_error(o),
	       "{name: a, terminationMessagePolicy: FallbackToLogsOnError}");
}

TEST(test_copies)
{
	cleanup_json cJSON *from =
		doc("{image: i, imagePullPolicy: Never, securityContext: {runAsUser: 7, "
		    "runAsGroup: 8, runAsNonRoot: true, privileged: true}, resources: "
		    "{limits: {cpu: 1, memory: 2Gi, gpu: 3}, requests: {memory: 1Gi}}}");
	cleanup_json cJSON *none = doc("{}");

	EDITED("{image: j, command: [a]}", container_copy_image(o, from),
	       "{image: i, command: [a], imagePullPolicy: Never}");
	EDITED("{securityContext: {runAsUser: 1, readOnlyRootFilesystem: true}}",
	       container_copy_user(o, from),
	       "{securityContext: {runAsUser: 7, readOnlyRootFilesystem: true, "
	       "runAsGroup: 8, runAsNonRoot: true}}");
	EDITED("{}", container_copy_user(o, none), "{}");
	EDITED("{}", container_copy_size(o, from),
	       "{resources: {limits: {cpu: 1, memory: 2Gi}, requests: {memory: 1Gi}}}");
	EDITED("{}", container_copy_size(o, none), "{}");
}

TEST(test_probes)
{
	EDITED("{}", container_probe_port(o, 22, 5),
	       "{readinessProbe: {tcpSocket: {port: 22}, periodSeconds: 5}}");
	EDITED("{readinessProbe: {tcpSocket: {port: 22}}, livenessProbe: {exec: {}}, "
	       "startupProbe: {tcpSocket: {port: ssh, host: h}}}",
	       container_move_probes(o, 2222),
	       "{readinessProbe: {tcpSocket: {port: 2222}}, livenessProbe: {exec: {}}, "
	       "startupProbe: {tcpSocket: {port: 2222, host: h}}}");
}

TEST(test_ports)
{
	EDITED("{}", container_add_port(o, 80), "{ports: [{containerPort: 80}]}");
	EDITED("{ports: [{containerPort: 80, name: http}]}", container_add_port(o, 80),
	       "{ports: [{containerPort: 80}]}");
	EDITED("{ports: [{containerPort: 81}]}", container_add_port(o, 80),
	       "{ports: [{containerPort: 81}, {containerPort: 80}]}");
}

RUN_TESTS(NULL, NULL)
