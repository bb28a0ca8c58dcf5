/*
 * devices.h - how many devices nodes have, and pods claim, by dynamic resource allocation.
 *
 * They are counted as resources of nodes and pods: "devices of DRIVER". That is exact for
 * a DeviceClass that selects by driver alone (device.driver == "gpu.example.com"); claims
 * of other classes are not counted. Source: resource.k8s.io/v1.
 */
#ifndef WHY_DEVICES_H
#define WHY_DEVICES_H

#include "why/view.h"

/* Counts for the nodes, and the first pod that waits. What may not be read is not counted. */
MUST_CHECK int devices_look(struct view *v, struct kube *k, struct error *err);

/* "gpu.example.com" of a class that selects by driver alone, in the arena; or NULL. */
const char *device_class_driver(struct arena *arena, const cJSON *class);

#endif
