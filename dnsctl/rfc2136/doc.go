// Package rfc2136 looks at records and changes them: plain queries to each authoritative server, and signed updates
// (RFC 2136, RFC 8945) at the primary. It is the only importer of miekg/dns and decides nothing but whether a write
// took place.
//
// It promises that an update carries the exact previous state as its prerequisite, is one message per zone, is signed
// anew for every attempt, and counts as done only when the primary answers the new records, TTLs and mark with
// authority. It refuses unsigned replies as proof, answers without the AA bit, and answers to another question.
package rfc2136
