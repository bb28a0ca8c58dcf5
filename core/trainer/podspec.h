/*
 * podspec.h - read and edit pod templates, whose lists are maps.
 *
 * Follows core/v1. An upsert replaces the element of the same key at the same
 * index, else appends: env and volumes by name, mounts by mountPath, ports by
 * number or, if both have one, by name (two ports without a name remain two
 * ports: upstream's pkg/apply merges them). podspec.c is the only file with
 * these keys.
 *
 * Pod templates must have passed shape_check().
 */
#ifndef TRAINER_PODSPEC_H
#define TRAINER_PODSPEC_H

#include "base/json.h"

/* Regular containers, then (pod_any_container) init containers too. */
cJSON *pod_container(cJSON *pod_spec, const char *name);
cJSON *pod_init_container(cJSON *pod_spec, const char *name);
cJSON *pod_any_container(cJSON *pod_spec, const char *name);
const cJSON *pod_containers_const(const cJSON *pod_spec);
const cJSON *pod_init_containers_const(const cJSON *pod_spec);
cJSON *pod_containers(cJSON *pod_spec);      /* the list, or NULL */
cJSON *pod_init_containers(cJSON *pod_spec); /* the list, made when absent */
const char *pod_priority_class(const cJSON *pod_spec);
const char *pod_spec_scheduler(const cJSON *pod_spec); /* or NULL */
const cJSON *pod_spec_group(const cJSON *pod_spec);    /* schedulingGroup, or NULL */
void pod_set_group(cJSON *pod_spec, const char *podgroup);
/* Copy nodeSelector, tolerations, affinity and topologySpreadConstraints. */
void pod_spec_copy_placement(cJSON *to, const cJSON *pod_spec);
const char *podspec_element_name(const cJSON *element); /* its "name" */

void pod_set_volume(cJSON *pod_spec, cJSON *take_volume);
void pod_drop_volume(cJSON *pod_spec, const char *name);
bool pod_has_volume(const cJSON *pod_spec, const char *name);
/* Add a DNS search domain after the default ones. */
void pod_add_search(cJSON *pod_spec, const char *domain);
/* Does a container or init container mount the volume? */
bool pod_mounts(const cJSON *pod_spec, const char *volume_name);
void pod_drop_init_container(cJSON *pod_spec, const char *name);
void pod_template_label(cJSON *pod_template, const char *key, const char *value);
void pod_template_annotate(cJSON *pod_template, const char *key, const char *value);

/* {"name": NAME}, to which a source is added with json_put(). The caller's. */
cJSON *podspec_volume(const char *name);
cJSON *podspec_volume_item(const char *key, const char *path,
			   int mode); /* mode -1: none */

cJSON *container_new(const char *name, const char *image);
void container_set_image(cJSON *container, const char *image);
void container_set_command(cJSON *container, const cJSON *command); /* empty: none */
void container_set_args(cJSON *container, const cJSON *args);
const cJSON *container_command(const cJSON *container);
const cJSON *container_args(const cJSON *container);
const cJSON *container_env(const cJSON *container);
const cJSON *container_resources(const cJSON *container);
const cJSON *container_limits(const cJSON *container); /* an object, or NULL */
const char *container_image(const cJSON *container);
const char *pod_runtime_class(const cJSON *pod_spec); /* or NULL */

/* Dynamic resource allocation: claims of a pod, and which of them a container uses. */
const cJSON *pod_claims(const cJSON *pod_spec); /* the list, or NULL */
const char *pod_claim_template(const cJSON *pod_spec, const char *claim); /* or NULL */
void pod_add_claim(cJSON *pod_spec,
		   const cJSON *claim);                /* replaces one of the same name */
const cJSON *container_claims(const cJSON *container); /* the list, or NULL */
void container_add_claim(cJSON *container, const char *claim); /* unless it has it */

void container_set_env(cJSON *container, const char *name, const char *value);
void container_default_env(cJSON *container, const char *name,
			   const char *value); /* if it has none of that name */
void container_set_env_field(cJSON *container, const char *name, const char *field_path);
void container_set_env_int(cJSON *container, const char *name, int64_t value);
/* Set all variables of a TrainJob's env; valueFrom overrides value. */
void container_merge_env(cJSON *container, const cJSON *env);
/* Write the divisor of every resourceFieldRef, even 0, as typed clients do. */
void podspec_spell_divisors(cJSON *doc);
bool container_has_env_from(const cJSON *container);
void container_env_from_secret(cJSON *container, const char *secret);
/*
 * A container with the image, variables, volumes, resources and rights of the other one,
 * and without its command, ports, probes and hooks. The caller's.
 */
cJSON *container_beside(const cJSON *container, const char *name);
/*
 * The directories of volumes that it may write: all but those of ConfigMaps, Secrets and
 * the like, of memory, and read-only ones. Strings; the caller's.
 */
cJSON *container_writable_paths(const cJSON *pod_spec, const cJSON *container);
/* The sizeLimit of the memory at /dev/shm; NULL: none. */
const char *container_shm_size(const cJSON *pod_spec, const cJSON *container);
void container_add_port(cJSON *container, int port);
void container_mount(cJSON *container, const char *volume, const char *path,
		     bool read_only);
bool container_mounts(const cJSON *container, const char *volume);
void container_default_workdir(cJSON *container, const char *path); /* if it has none */
void container_move_workdir(cJSON *container, const char *from, const char *to);
void container_drop_mount(cJSON *container, const char *volume);
/*
 * For our container in a user's pod: only the rights that Pod Security's restricted
 * policy allows, the user of another container, without whose runAsNonRoot the policy may
 * refuse the pod, and its CPU and memory, so that neither the pod's QoS class nor its
 * requests change.
 */
void container_harden(cJSON *container);
void container_soften(cJSON *container); /* removes the securityContext */
void container_log_on_error(
	cJSON *container); /* terminationMessagePolicy FallbackToLogsOnError */
void container_copy_size(cJSON *container, const cJSON *from);
/* Set a resource, as limit and request. */
void container_set_resource(cJSON *container, const char *name, const char *quantity);
void container_copy_image(cJSON *container, const cJSON *from); /* and imagePullPolicy */
/* Copy the user and group of the other container. */
void container_copy_user(cJSON *container, const cJSON *from);
/* Ready while the TCP port accepts connections. */
void container_probe_port(cJSON *container, int port, int period_seconds);
void container_move_probes(cJSON *container, int port); /* probes of TCP ports */

/* The literal value of a variable, or NULL. */
const char *podspec_env_value(const cJSON *env, const char *name);

/* A word in which a pod expands nothing: "$(A)" becomes "$$(A)". */
const char *podspec_literal(struct arena *arena, const char *word);

#endif
