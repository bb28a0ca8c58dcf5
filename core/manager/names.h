/* names.h - names of upstream's manager in the API, events, metrics and webhooks. */
#ifndef MANAGER_NAMES_H
#define MANAGER_NAMES_H

#define MANAGER_NAMESPACE    "kubeflow-system" /* outside a pod */
#define MANAGER_FIELD_OWNER  "trainer"
#define MANAGER_STATUS_OWNER "trainer-status"
#define MANAGER_SUPERVISION  "trainer-supervision"
#define MANAGER_COMPONENT    "trainer-trainjob-controller" /* of events */
#define MANAGER_CONTROLLER   "trainjob_controller"         /* of metrics */
#define MANAGER_MUTATING     "defaulter.trainer.kubeflow.org"
#define MANAGER_VALIDATING   "validator.trainer.kubeflow.org"

#endif
