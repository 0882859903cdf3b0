package sim

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stale reads as from a watch cache that hears nothing for a while: what it answers is as old as lag at most. A lag of zero
// reads what is stored.
type stale struct {
	live client.Reader
	tap  Tap
	from *cache
	lag  time.Duration
	now  func() time.Time

	seen *cache
	at   time.Time
}

// staleClient writes at once and reads as a manager's client does: from the cache.
type staleClient struct {
	client.Client

	reads *stale
}

// Get reads from the cache.
func (c staleClient) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	return c.reads.Get(ctx, key, out, opts...)
}

// List reads from the cache.
func (c staleClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reads.List(ctx, list, opts...)
}

var _ client.Reader = (*stale)(nil)

// Get answers from what was seen last.
func (s *stale) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	if s.lag == 0 {
		return s.live.Get(ctx, key, out, opts...)
	}
	if err := s.tap.Look(); err != nil {
		return err
	}
	return s.look().Get(ctx, key, out, opts...)
}

// List answers from what was seen last.
func (s *stale) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if s.lag == 0 {
		return s.live.List(ctx, list, opts...)
	}
	if err := s.tap.Look(); err != nil {
		return err
	}
	return s.look().List(ctx, list, opts...)
}

// look hears of everything at once, but rarely. Stored objects are never changed in place, so that the maps are copied only.
func (s *stale) look() *cache {
	if s.seen != nil && s.now().Before(s.at.Add(s.lag)) {
		return s.seen
	}
	s.seen, s.at = newCache(s.from.scheme), s.now()
	s.seen.objects = make(map[schema.GroupKind]map[types.NamespacedName]client.Object, len(s.from.objects))
	for gk, objects := range s.from.objects {
		s.seen.objects[gk] = maps.Clone(objects)
	}
	return s.seen
}
