//go:build tools

// What is tied to the oldest supported Kubernetes, and that Kubernetes; tests/cluster/programs.sh builds them.
package tools

import (
	_ "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
	_ "sigs.k8s.io/scheduler-plugins/cmd/controller"
)
