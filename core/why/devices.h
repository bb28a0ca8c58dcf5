/*
 * devices.h - how many devices nodes have, and pods claim (dynamic resource allocation).
 *
 * Devices are counted as resources of nodes and pods: "devices of DRIVER". The count is
 * exact for a DeviceClass that selects by driver alone (device.driver ==
 * "gpu.example.com"); claims of other classes are not counted. Source:
 * resource.k8s.io/v1.
 */
#ifndef WHY_DEVICES_H
#define WHY_DEVICES_H

#include "why/view.h"

/*
 * Adds the counts to the view's nodes, and to its first pod without a node that claims
 * devices. Objects that do not exist or may not be read are no error: they do not count.
 */
MUST_CHECK int devices_load(struct view *v, struct kube *k, struct error *err);

/* The driver of a class that selects by driver alone, in the arena; or NULL. */
const char *device_class_driver(struct arena *arena, const cJSON *class);

#endif
