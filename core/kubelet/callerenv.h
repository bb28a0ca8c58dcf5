/* callerenv.h - the caller's variables that do not reach its pods. */
#ifndef KUBELET_CALLERENV_H
#define KUBELET_CALLERENV_H

#include <stdbool.h>

/*
 * Does the variable say which process of a job the caller is, or which nodes a batch system
 * has given to it? Its pods are other processes, on nodes of their own: with the caller's
 * rank each would train alone, torchrun's would wait for its store, and mpirun would start
 * its processes on the caller's nodes, by srun or its like.
 */
bool callerenv_is_hidden(const char *name);

#endif
