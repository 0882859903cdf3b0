package sim

import "errors"

// errDead is what a controller sees of the world once it was killed, errLost what it hears of a write that was made.
var (
	errDead = errors.New("the controller is dead")
	errLost = errors.New("no response: the connection was lost")
)

// killer taps the controller's requests: it counts the writes and ends the controller where a fault says so. A dead
// controller reaches nothing any more: neither does what it had begun.
type killer struct {
	// before and after are ordinals of the write, from 1; 0 never. everywhere: before and after every write in turn.
	before, after int
	everywhere    bool
	// lose: the response to every third write is lost, beginning with this one; 0 none.
	lose int

	// owner is the entry point that is being worked for.
	owner string
	// tried and done count the writes; log names them.
	tried, done int
	log         []Write
	writes      map[string]*Writes
	dead        bool
	// armed: the next write is let through and the controller killed after it.
	armed bool
	// kills and lost responses so far.
	kills, lost int
	// statuses counts writes of a status in a row, by entry point.
	statuses map[string]int
	// onWrite is told of every write that was made.
	onWrite func(Write)
}

var _ Tap = (*killer)(nil)

// Look fails once the controller is dead.
func (k *killer) Look() error {
	if k.dead {
		return errDead
	}
	return nil
}

// Before is called before each write.
func (k *killer) Before(w Write) error {
	k.tried++
	if k.before > 0 && k.tried == k.before || k.everywhere && !k.armed && k.may(w) {
		k.armed = true
		return k.die()
	}
	return nil
}

// restless is how many writes of a status in a row are worth a kill. A controller that is killed whenever it reports
// never gets beyond its first probe: the rounds that prove a path are not stored.
const restless = 4

func (k *killer) may(w Write) bool {
	if k.statuses == nil {
		k.statuses = map[string]int{}
	}
	if !w.Status {
		k.statuses[k.owner] = 0
		return true
	}
	k.statuses[k.owner]++
	return k.statuses[k.owner] <= restless
}

// After is called after each write that was made.
func (k *killer) After(w Write) error {
	k.done++
	k.log = append(k.log, w)
	k.count(w)
	if k.onWrite != nil {
		k.onWrite(w)
	}
	if k.after > 0 && k.done == k.after || k.everywhere && k.armed {
		k.armed = false
		return k.die()
	}
	if k.lose > 0 && k.done >= k.lose && (k.done-k.lose)%3 == 0 {
		k.lost++
		return errLost
	}
	return nil
}

func (k *killer) die() error {
	k.dead = true
	k.kills++
	return errDead
}

func (k *killer) count(w Write) {
	if k.writes == nil {
		k.writes = map[string]*Writes{}
	}
	n := k.writes[k.owner]
	if n == nil {
		n = &Writes{}
		k.writes[k.owner] = n
	}
	if w.Kind == kindDNS {
		n.DNS++
	} else {
		n.API++
	}
}
