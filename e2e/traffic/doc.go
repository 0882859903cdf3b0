// Package traffic is what the end-to-end suite sends and answers: a backend that says who asked it, a client that never
// stops asking, and the Go side of the client's control API.
//
// Lost means: one connect attempt, no retry, to the first address answered, no valid reply in 5 s. Every request asks the
// resolver anew and opens a connection of its own. The client is an open loop: it sends at its rate whatever becomes of the
// requests before, so that a slow path cannot hide behind a slow client. What the client itself failed to send is counted
// too (missed ticks) and is never taken for good.
//
// Cut means: a held connection ended, or gave no valid answer for 5 s, before the client ended it.
package traffic
