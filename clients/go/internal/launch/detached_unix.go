//go:build !windows

package launch

import "syscall"

// Detached starts a process outside the process group of this one, so that Ctrl-C does not reach it.
func Detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
