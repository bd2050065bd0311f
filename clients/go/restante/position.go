// Which messages an inbox object has returned, so that no wait returns one of them again.

package restante

import "sync"

// position is shared by all waits of one Inbox, including concurrent ones.
type position struct {
	mutex    sync.Mutex
	last     string
	returned map[string]bool
}

// walk is the position of one wait: where it starts, and which messages it skips. An explicit start skips none.
type walk struct {
	position *position
	isFixed  bool
	start    string
}

func (p *position) walk(s search) walk {
	if s.isFixed {
		return walk{p, true, s.after}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return walk{p, false, p.last}
}

// takes reserves a message; false if an earlier or concurrent wait has returned it.
func (w walk) takes(id string) bool {
	if w.isFixed {
		return true
	}
	w.position.mutex.Lock()
	defer w.position.mutex.Unlock()
	if w.position.returned[id] {
		return false
	}
	w.position.note(id)
	return true
}

// wouldTake is takes without reserving.
func (w walk) wouldTake(id string) bool {
	w.position.mutex.Lock()
	defer w.position.mutex.Unlock()
	return w.isFixed || !w.position.returned[id]
}

// failed frees the messages that a failed wait has reserved.
func (w walk) failed(found []*Message) {
	w.position.mutex.Lock()
	defer w.position.mutex.Unlock()
	for _, message := range found {
		if !w.isFixed {
			delete(w.position.returned, message.ID)
		}
	}
}

// succeeded records that the wait has returned these messages.
func (w walk) succeeded(found []*Message) {
	w.position.mutex.Lock()
	defer w.position.mutex.Unlock()
	if w.isFixed && w.start == "" {
		w.position.returned = nil
	}
	for _, message := range found {
		w.position.note(message.ID)
		w.position.last = message.ID
	}
}

func (p *position) note(id string) {
	if p.returned == nil {
		p.returned = map[string]bool{}
	}
	p.returned[id] = true
}
