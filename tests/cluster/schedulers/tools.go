//go:build tools

// The gang schedulers in the tests' cluster; tests/cluster/schedulers.sh builds them.
package tools

import (
	_ "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"
	_ "sigs.k8s.io/scheduler-plugins/cmd/controller"
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)
