//go:build tools

// KAI's programs, which tests/cluster/kai.sh builds.
package tools

import (
	_ "github.com/NVIDIA/KAI-scheduler/cmd/binder"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/podgroupcontroller"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/podgrouper"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/queuecontroller"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/scheduler"
)
