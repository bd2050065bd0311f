// The names of a scenario: results of earlier steps, and what ${name.field} stands for.

package scenarios

import (
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// names has the results of a run; a parallel run also sees those of its parent.
type names struct {
	parent *names
	mutex  sync.Mutex
	values map[string]any
}

func (n *names) set(name string, value any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.values[name] = value
}

func (n *names) get(name string) any {
	n.mutex.Lock()
	value, exists := n.values[name]
	n.mutex.Unlock()
	if !exists && n.parent != nil {
		return n.parent.get(name)
	}
	if !exists {
		panic("there is no result " + name)
	}
	return value
}

var reference = regexp.MustCompile(`\$\{([^}]+)\}`)

// filled returns the value with every ${name.field} replaced.
func (n *names) filled(value any) any {
	switch value := value.(type) {
	case string:
		return reference.ReplaceAllStringFunc(value, func(found string) string { return n.lookup(found[2 : len(found)-1]) })
	case []any:
		filled := make([]any, len(value))
		for index, item := range value {
			filled[index] = n.filled(item)
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for name, item := range value {
			filled[name] = n.filled(item)
		}
		return filled
	}
	return value
}

func (n *names) lookup(path string) string {
	name, field, hasField := strings.Cut(path, ".")
	value := jsonOf(n.get(name))
	if !hasField {
		return fmt.Sprint(value)
	}
	if field != "mistyped" {
		return fmt.Sprint(object(value)[field])
	}
	address := object(value)["address"].(string)
	if address[0] == '0' {
		return "1" + address[1:]
	}
	return "0" + address[1:]
}

// ports are taken one after the other, so that two servers of this run do not get the same one before they listen.
var (
	firstPort = rand.Uint32N(portCount)
	nextPort  atomic.Uint32
)

const portCount = 20_000

// freePort returns an address on which nothing listens, with a port that the system does not give to a program that
// asks for any port.
func freePort() string {
	// A process that is being started would have the closed listener, too, until it runs its own program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 12_000+(firstPort+nextPort.Add(1))%portCount)
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
}
