//go:build tools

// The controllers of others in the tests' cluster: JobSet's and Kueue's, of one set of
// libraries, so that these are compiled once; tests/cluster/programs.sh builds them.
package tools

import (
	_ "sigs.k8s.io/jobset"
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
