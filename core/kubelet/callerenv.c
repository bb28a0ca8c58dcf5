/* callerenv.c - ranks and nodes of the caller (kubelet/callerenv.h). */
#include "kubelet/callerenv.h"

#include <stddef.h>

#include "base/str.h"

static const char *const ranks[] = { "RANK",
				     "LOCAL_RANK",
				     "WORLD_SIZE",
				     "LOCAL_WORLD_SIZE",
				     "NODE_RANK",
				     "GROUP_RANK",
				     "TORCHELASTIC_RUN_ID",
				     "TORCHELASTIC_USE_AGENT_STORE",
				     "TORCHELASTIC_ERROR_FILE",
				     "MASTER_ADDR",
				     "MASTER_PORT",
				     "SLURM_PROCID",
				     "SLURM_LOCALID",
				     "SLURM_NODEID",
				     "SLURM_NTASKS",
				     "SLURM_NPROCS",
				     "PALS_RANKID",
				     "PALS_LOCAL_RANKID",
				     "FLUX_TASK_RANK",
				     "FLUX_TASK_LOCAL_ID",
				     NULL };

static const char *const rank_prefixes[] = {
	"OMPI_COMM_WORLD_", "MV2_COMM_WORLD_", "MPI_LOCAL",          "PMI_",  "PMIX_",
	"JSM_NAMESPACE_",   "OMPI_MCA_ess",    "OMPI_MCA_orte_ess_", "HYDI_", NULL
};

/* By these Open MPI 4 knows a process of mpirun, which it does not let start mpirun. */
static const char *const started_by_mpirun[] = { "OMPI_UNIVERSE_SIZE",
						 "OMPI_MCA_pmix",
						 "OMPI_MCA_orte_hnp_uri",
						 "OMPI_MCA_orte_local_daemon_uri",
						 "OMPI_MCA_orte_jobfam_session_dir",
						 "OMPI_MCA_orte_top_session_dir",
						 "OMPI_MCA_orte_launch",
						 NULL };

/*
 * Of Slurm, PBS, Grid Engine, LSF, LoadLeveler, Cobalt and OAR: what mpirun looks for, and
 * by what Open MPI takes a program for one that srun has started. SLURM_JOB_ID and
 * PBS_JOBID, after which scripts name their results, are not among them.
 */
static const char *const nodes[] = {
	"SLURM_JOBID",           "SLURM_NODELIST",       "SLURM_JOB_NODELIST",
	"SLURM_STEP_NODELIST",   "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE",
	"SLURM_STEP_ID",         "SLURM_STEPID",         "PBS_ENVIRONMENT",
	"PBS_NODEFILE",          "PE_HOSTFILE",          "LSB_HOSTS",
	"LSB_MCPU_HOSTS",        "LSB_DJOB_HOSTFILE",    "LSB_DJOB_RANKFILE",
	"LSB_AFFINITY_HOSTFILE", "LOADL_HOSTFILE",       "COBALT_NODEFILE",
	"OAR_NODEFILE",          "OAR_NODE_FILE",        NULL
};

bool callerenv_is_hidden(const char *name)
{
	for (size_t i = 0; rank_prefixes[i]; i++)
		if (str_starts(name, rank_prefixes[i]))
			return true;
	return str_in(name, ranks) || str_in(name, started_by_mpirun) ||
	       str_in(name, nodes);
}
