// kubectld SOCKET: kubectl, started once: runs what kubectlc sends, one command after the other, with the
// caller's folder and its standard input, output and error. While one runs, others are told to go elsewhere.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"k8s.io/kubectl/pkg/cmd/util"
)

const busy = 255 // in place of an exit code

type exit struct{ code int }

var running sync.Mutex

func main() {
	os.Remove(os.Args[1])
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: os.Args[1], Net: "unixpacket"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	util.BehaviorOnFatal(func(message string, code int) {
		if message != "" {
			fmt.Fprintln(os.Stderr, strings.TrimSuffix(message, "\n"))
		}
		panic(exit{code})
	})
	for {
		caller, err := listener.AcceptUnix()
		if err == nil {
			go serve(caller)
		}
	}
}

func serve(caller *net.UnixConn) {
	defer caller.Close()
	words, files := received(caller)
	for _, file := range files {
		defer file.Close()
	}
	if len(files) != 3 || len(words) < 2 {
		return
	}
	code := busy
	if running.TryLock() {
		code = run(words[0], words[1], words[2:], files)
		running.Unlock()
	}
	caller.Write([]byte{byte(code)})
}

// The caller's folder, the verb and the arguments, each ended by a NUL.
func received(caller *net.UnixConn) (words []string, files []*os.File) {
	data, rights := make([]byte, 1<<20), make([]byte, 256)
	n, m, _, _, err := caller.ReadMsgUnix(data, rights)
	if err != nil || n == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:m])
	for i := 0; err == nil && i < len(messages); i++ {
		fds, _ := syscall.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "caller's"))
		}
	}
	for _, word := range bytes.Split(data[:n-1], []byte{0}) {
		words = append(words, string(word))
	}
	return words, files
}

// Much of kubectl takes the files that the process has, and not those that it is given.
func run(folder, verb string, arguments []string, files []*os.File) (code int) {
	own := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	os.Stdin, os.Stdout, os.Stderr = files[0], files[1], files[2]
	defer func() {
		os.Stdin, os.Stdout, os.Stderr = own[0], own[1], own[2]
		if problem := recover(); problem != nil {
			fatal, ok := problem.(exit)
			if !ok {
				panic(problem)
			}
			code = fatal.code
		}
	}()
	if err := os.Chdir(folder); err != nil {
		util.CheckErr(err)
	}
	kubectl(verb, arguments)
	return 0
}
