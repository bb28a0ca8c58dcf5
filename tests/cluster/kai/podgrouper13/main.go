// podgrouper is KAI 0.12's pod grouper with the two kinds that 0.13 adds, as no later release can be had as a
// module: a TrainJob stands for its JobSet; the pods of a JobSet are one gang of all its replicatedJobs or, if they
// start in order, one for each (KAI, docs/developer/pod-grouper.md, "JobSet Grouping").
package main

import (
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/NVIDIA/KAI-scheduler/cmd/podgrouper/app"
	"github.com/NVIDIA/KAI-scheduler/pkg/podgrouper/podgroup"
	pluginshub "github.com/NVIDIA/KAI-scheduler/pkg/podgrouper/podgrouper/hub"
	"github.com/NVIDIA/KAI-scheduler/pkg/podgrouper/podgrouper/plugins/defaultgrouper"
	"github.com/NVIDIA/KAI-scheduler/pkg/podgrouper/podgrouper/plugins/grouper"
	"github.com/NVIDIA/KAI-scheduler/pkg/podgrouper/podgrouper/plugins/skiptopowner"
)

var (
	jobSet   = metav1.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	trainJob = metav1.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}
)

type hub struct {
	pluginshub.PluginsHub
	kinds map[metav1.GroupVersionKind]grouper.Grouper
}

func (h *hub) GetPodGrouperPlugin(gvk metav1.GroupVersionKind) grouper.Grouper {
	if g, found := h.kinds[gvk]; found {
		return g
	}
	return h.PluginsHub.GetPodGrouperPlugin(gvk)
}

type jobSets struct {
	*defaultgrouper.DefaultGrouper
}

func (g jobSets) GetPodGroupMetadata(owner *unstructured.Unstructured, pod *v1.Pod, _ ...*metav1.PartialObjectMetadata) (*podgroup.Metadata, error) {
	group, err := g.DefaultGrouper.GetPodGroupMetadata(owner, pod)
	if err != nil {
		return nil, err
	}
	of := pod.Labels["jobset.sigs.k8s.io/replicatedjob-name"]
	order, found, _ := unstructured.NestedString(owner.Object, "spec", "startupPolicy", "startupPolicyOrder")
	inOrder := !found || order == "InOrder"
	if inOrder {
		group.Name += "-" + of
	}
	group.MinAvailable = 0
	jobs, _, _ := unstructured.NestedSlice(owner.Object, "spec", "replicatedJobs")
	for _, job := range jobs {
		if job := job.(map[string]interface{}); !inOrder || job["name"] == of {
			group.MinAvailable += int32(number(job, 1, "replicas") * podsOf(job))
		}
	}
	return group, nil
}

func podsOf(job map[string]interface{}) int64 {
	parallelism := number(job, 1, "template", "spec", "parallelism")
	return min(parallelism, number(job, parallelism, "template", "spec", "completions"))
}

func number(o map[string]interface{}, otherwise int64, path ...string) int64 {
	if n, found, err := unstructured.NestedInt64(o, path...); found && err == nil && n > 0 {
		return n
	}
	return otherwise
}

func run() error {
	a, err := app.New()
	if err != nil {
		return err
	}
	of := a.DefaultPluginsHub.GetDefaultPlugin().(*defaultgrouper.DefaultGrouper)
	h := &hub{a.DefaultPluginsHub, map[metav1.GroupVersionKind]grouper.Grouper{jobSet: jobSets{of}}}
	h.kinds[trainJob] = skiptopowner.NewSkipTopOwnerGrouper(a.Mgr.GetClient(), of, h.kinds)
	a.RegisterPlugins(h)
	return a.Run()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
