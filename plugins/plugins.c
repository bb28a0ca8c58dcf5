/*
 * plugins.c - the list of plugins, and how to add a policy (plugins/plugins.h).
 *
 * To add a policy, of an ML framework or a gang scheduler, say "ray":
 *
 * 1. core/assets/schema.yaml: the property `ray` of MLPolicy (or PodGroupPolicy), its name
 *    in the rule one-ml-policy, and a type for its settings. Validation, defaults,
 *    "did you mean", the CRDs and the Helm chart follow from that.
 * 2. plugins/ray.c with `const struct plugin plugin_ray`, .policy = "ray", and X(ray) in
 *    the table of plugins.h. jax.c is the shortest example; mpi.c also adds objects.
 *    .cluster_only = true makes `submit --local` refuse it.
 *
 * Where it applies: settings that the plugin reads need a row in runtime.c's table and an
 * accessor there (core/trainer); a new runtime is a file of core/assets/runtimes and its
 * row in assets.S; objects of a kind that no plugin creates yet need a row in
 * core/api/kinds.c and core/manager/watch.c, and the permission to write them in
 * core/assets/manifests/access.yaml. Tests: tests/unit/plugins, a case in tests/golden.
 */
#include "plugins/plugins.h"

#define ADDRESS(name) &plugin_##name
const struct plugin *const plugins[] = { PLUGINS(ADDRESS), NULL };
