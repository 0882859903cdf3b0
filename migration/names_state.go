package migration

import "time"

// anyServesNew: a server is known to answer a new address.
func (w *walk) anyServesNew() bool {
	for i := range w.Names {
		n := &w.Names[i]
		for s := range n.Servers {
			if n.Servers[s].Known && n.Name.HasNew(n.Servers[s].Value.Records) {
				return true
			}
		}
	}
	return false
}

// allServeOld: every server is known to answer no new address.
func (w *walk) allServeOld() bool {
	for i := range w.Names {
		n := &w.Names[i]
		if len(n.Servers) == 0 {
			return false
		}
		for s := range n.Servers {
			if !n.Servers[s].Known || n.Name.HasNew(n.Servers[s].Value.Records) {
				return false
			}
		}
	}
	return true
}

// lowTTL is how long a cache may hold an answer of the walk, oldTTL one of before it.
func (w *walk) lowTTL() time.Duration {
	var most uint32
	for i := range w.Names {
		most = max(most, w.Names[i].Name.LowTTL)
	}
	return seconds(int64(most)) + rounding
}

func (w *walk) oldTTL() time.Duration {
	var most uint32
	for i := range w.Names {
		most = max(most, w.Names[i].Name.LargestTTL())
	}
	return seconds(int64(most)) + rounding
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
