// Reads Volcano's PodGroups, one JSON document after another, with Volcano's own types,
// and prints what it made of them. A field that these do not have is an error.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	in.DisallowUnknownFields()
	for {
		var group volcano.PodGroup
		err := in.Decode(&group)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = out.Encode(group.Spec)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
