//go:build tools

// The JobSet controller of the tests' cluster; tests/cluster/programs.sh builds it.
package tools

import _ "sigs.k8s.io/jobset"
