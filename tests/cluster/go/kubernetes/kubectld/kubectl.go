// One command of kubectl, as its own main() puts it together, less what is the same for every command: what the API
// server has is asked for once, and that it checks fields itself is known.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/describe"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/taint"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/wait"
	"k8s.io/kubectl/pkg/validation"
)

// ---- what all commands share ----------------------------------------------------------------------------------

// Kinds: what a command misses is looked for anew, once.
type kinds struct {
	discovery.CachedDiscoveryInterface
	fresh bool
}

func (k *kinds) Fresh() bool { return k.fresh }
func (k *kinds) Invalidate() {
	k.fresh = true
	k.CachedDiscoveryInterface.Invalidate()
}

var (
	known  *kinds
	mapper meta.ResettableRESTMapper
)

func know() { // as the administrator, whoever the command is for
	config, err := genericclioptions.NewConfigFlags(true).ToRESTConfig()
	util.CheckErr(err)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	util.CheckErr(err)
	known = &kinds{memory.NewMemCacheClient(client), false}
	mapper = restmapper.NewDeferredDiscoveryRESTMapper(known)
}

type getter struct {
	*genericclioptions.ConfigFlags
	warn func(string)
}

func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return known, nil }
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewShortcutExpander(mapper, known, g.warn), nil
}

// Checks of fields: the server does them.
type factory struct{ util.Factory }
type server struct{}

func (server) HasSupport(schema.GroupVersionKind) error { return nil }
func (f factory) Validator(directive string) (validation.Schema, error) {
	if directive == "Ignore" {
		return validation.NullSchema{}, nil
	}
	return validation.NewParamVerifyingSchema(validation.NoDoubleKeySchema{}, server{}, directive), nil
}

// ---- one command ----------------------------------------------------------------------------------------------
func command(verb string, f util.Factory, g getter, streams genericiooptions.IOStreams) *cobra.Command {
	switch verb {
	case "annotate":
		return annotate.NewCmdAnnotate("kubectl", f, streams)
	case "apply":
		return apply.NewCmdApply("kubectl", f, streams)
	case "create":
		return create.NewCmdCreate(f, streams)
	case "delete":
		return delete.NewCmdDelete(f, streams)
	case "describe":
		return describe.NewCmdDescribe("kubectl", f, streams)
	case "label":
		return label.NewCmdLabel(f, streams)
	case "patch":
		return patch.NewCmdPatch(f, streams)
	case "replace":
		return replace.NewCmdReplace(f, streams)
	case "scale":
		return scale.NewCmdScale(f, streams)
	case "taint":
		return taint.NewCmdTaint(f, streams)
	case "wait":
		return wait.NewCmdWait(g, streams)
	}
	return get.NewCmdGet("kubectl", f, streams)
}

func kubectl(verb string, arguments []string) {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()
	g := getter{flags, func(text string) { streams.ErrOut.Write([]byte("Warning: " + text + "\n")) }}
	if known == nil {
		know()
	}
	known.fresh = false
	root := &cobra.Command{Use: "kubectl", PersistentPreRun: func(*cobra.Command, []string) {
		rest.SetDefaultWarningHandler(rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true}))
	}}
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(command(verb, factory{util.NewFactory(g)}, g, streams))
	root.SetArgs(arguments)
	if err := cli.RunNoErrOutput(root); err != nil {
		util.CheckErr(err)
	}
}
