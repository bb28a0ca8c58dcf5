/* logcause_impl.h - the table that the files of logcause.h share. */
#ifndef LOGTEXT_LOGCAUSE_IMPL_H
#define LOGTEXT_LOGCAUSE_IMPL_H

#include <stddef.h>

#include "logtext/logcause.h"

#define LOG_LAST_ERROR "Last error:" /* NCCL's error is on the next line */

/* Best explanation first: of two that are present, the earlier one is reported. */
extern const struct log_cause log_causes[];
extern const size_t log_n_causes;

#endif
