package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"offramp.dev/api/v1alpha1"
)

// written remembers the EntryPoints as the API server answered our last report of each, until the cache has caught up. A pass
// that goes by an older copy would find its own report missing and write it again, as often as it passes while the cache lags.
// The zero value remembers nothing.
type written struct {
	mu   sync.Mutex
	last map[string]*v1alpha1.EntryPoint
}

// remember keeps what the API server answered to a write.
func (w *written) remember(ep *v1alpha1.EntryPoint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]*v1alpha1.EntryPoint{}
	}
	w.last[ep.Name] = ep.DeepCopy()
}

// forget drops the memory of an EntryPoint that is gone.
func (w *written) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, name)
}

// newest is the newer one of a cached EntryPoint and of what was written. Where their order cannot be told, what is cached counts.
func (w *written) newest(cached *v1alpha1.EntryPoint) *v1alpha1.EntryPoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last[cached.Name]
	if last == nil {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, last.ResourceVersion)
	if err != nil || order >= 0 || cached.UID != last.UID {
		delete(w.last, cached.Name)
		return cached
	}
	return last.DeepCopy()
}
