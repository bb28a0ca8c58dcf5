// kubectlc SOCKET COMMAND... -- ARGUMENT...: kubectl with these arguments, by the kubectld that listens there. What that does
// not do, and while it is busy, by COMMAND with the arguments.
package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Whether kubectld has this verb.
var verbs = map[string]bool{
	"annotate": true, "apply": true, "create": true, "delete": true, "describe": true, "get": true, "label": true,
	"patch": true, "replace": true, "scale": true, "taint": true, "wait": true,
	"api-resources": false, "auth": false, "attach": false, "config": false, "cp": false, "debug": false, "diff": false,
	"edit": false, "exec": false, "kustomize": false, "logs": false, "port-forward": false, "proxy": false, "run": false,
}

// The verb, if kubectld can do all this.
func served(arguments []string) string {
	verb := ""
	for _, word := range arguments {
		if is, known := verbs[word]; known && verb == "" {
			if !is {
				return ""
			}
			verb = word
		}
		if word == "-w" || strings.HasPrefix(word, "--watch") || strings.HasPrefix(word, "--kubeconfig") ||
			strings.Contains(word, "/dev/") || strings.Contains(word, "/proc/") {
			return ""
		}
	}
	return verb
}

// Its exit code, or 255.
func ask(socket, verb string, arguments []string) int {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil || syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}) != nil {
		return 255
	}
	folder, err := os.Getwd()
	if err != nil {
		return 255
	}
	text := strings.Join(append([]string{folder, verb}, arguments...), "\x00") + "\x00"
	if syscall.Sendmsg(fd, []byte(text), syscall.UnixRights(0, 1, 2), nil, 0) != nil {
		return 255
	}
	code := make([]byte, 1)
	for {
		n, err := syscall.Read(fd, code)
		if err == syscall.EINTR {
			continue
		}
		if n != 1 {
			os.Stderr.WriteString("kubectlc: kubectld ended\n")
			return 1
		}
		return int(code[0])
	}
}

func main() {
	at := 2
	for os.Args[at] != "--" {
		at++
	}
	arguments := os.Args[at+1:]
	if verb := served(arguments); verb != "" {
		if code := ask(os.Args[1], verb, arguments); code != 255 {
			os.Exit(code)
		}
	}
	command := append(append([]string{}, os.Args[2:at]...), arguments...)
	path, err := exec.LookPath(command[0])
	if err == nil {
		err = syscall.Exec(path, command, os.Environ())
	}
	os.Stderr.WriteString("kubectlc: " + err.Error() + "\n")
	os.Exit(127)
}
