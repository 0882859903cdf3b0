package migration

import (
	"cmp"
	"strconv"
	"time"

	"offramp.dev/dnsctl"
)

// oldGood is asked before names are sent back to the old path. A waiver of Settled stands in for missing evidence, as with
// a protocol that never answers, never for evidence of a failure.
func (w *walk) oldGood() outcome {
	switch h := w.Old.Healthy; {
	case !h.Known && w.waives(GateSettled):
		return w.waived(GateSettled)
	case !h.Known:
		return unknown(ReasonPathUnknown, "the old path could not be judged: "+h.Why+"; waive Settled if it was asked by hand")
	case !h.Value:
		return held(ReasonOldPathFailed, "the old path fails: "+w.Old.Detail)
	}
	return outcome{}
}

// unneeded: nobody needs the new path. It was never intended, or names were seen without it everywhere, the largest TTL
// is over and the path is quiet. Where no name moves but the address does, only its own traffic can tell.
func unneeded(w *walk) outcome {
	j := &w.journal
	if j.up == never {
		if w.nameless() && !w.keepsAddress() && w.Target.Any {
			return w.newQuiet()
		}
		return outcome{reason: ReasonNeverIntended, message: "names never moved"}
	}
	seen := j.sighting(dnsctl.StepLowTTL)
	if j.step > dnsctl.StepLowTTL || seen.place == never || seen.place < j.up {
		return waiting(ReasonNamesServeNew, "names may still serve the new address")
	}
	from := seen.at
	if j.divergedAt.After(from) {
		from = j.divergedAt
	}
	if end := w.rules.since(w, from).Add(w.rules.backTTL(w)); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold the new address")
	}
	return w.newQuiet()
}

// newQuiet: a proxy that is removed with the path cuts its connections, whatever conntrack would keep.
func (w *walk) newQuiet() outcome {
	return w.quiet(&w.NewUse, !w.NewUse.Survives || w.NewUse.ProxyGoes)
}

// quiet: no new connection for the window, and no established one that would be cut: none at all, or none that is not
// older than the declared lifetime where removal cuts nothing. A waiver of Drained stands in for it both ways. Connections
// on a port that others share may be theirs: the path is not known to be quiet, nor known to be in use.
func (w *walk) quiet(u *Use, cut bool) outcome {
	o := w.quietNow(u, cut)
	if o.reason == ReasonInUse && u.Shared != "" {
		o = unknown(ReasonUseShared, o.message+"; ours, or that of "+u.Shared+": waive Drained when the implementation's logs show that ours have ended")
	}
	if !o.passes() && w.waives(GateDrained) {
		return w.waived(GateDrained, o.message)
	}
	return o
}

func (w *walk) quietNow(u *Use, cut bool) outcome {
	if !u.QuietSince.Known || !u.Established.Known {
		return unknown(ReasonUseUnknown, "who uses the path is unknown: "+cmp.Or(u.QuietSince.Why, u.Established.Why))
	}
	if end := u.QuietSince.Value.Add(seconds(w.settings.DrainWindow)); w.Now.Before(end) {
		return until(end, ReasonInUse, "a connection began within the window")
	}
	left := strconv.FormatInt(u.Established.Value, 10) + " connections are left"
	switch {
	case u.Established.Value == 0:
		return outcome{}
	case cut || w.settings.MaxLifetime <= 0:
		return waiting(ReasonInUse, left)
	}
	if end := u.QuietSince.Value.Add(seconds(w.settings.MaxLifetime)); w.Now.Before(end) {
		return until(end, ReasonInUse, left+" and may live on")
	}
	return outcome{}
}

// since counts a TTL from when the last server was seen, never from when the change was intended.
func since(_ *walk, seen time.Time) time.Time { return seen }
