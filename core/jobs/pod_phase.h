/* pod_phase.h - the phase of a pod, as in its status. */
#ifndef JOBS_POD_PHASE_H
#define JOBS_POD_PHASE_H

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

#endif
