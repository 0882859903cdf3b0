package sim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
)

// User is who writes; the emulated guard tells them apart.
type User string

// The users of the embedded world.
const (
	UserController User = "system:serviceaccount:offramp-system:offramp-controller"
	UserTenant     User = "tenant"
	UserAdmin      User = "admin"
	UserCluster    User = "cluster" // load balancer, Gateway implementation, node agents
)

// Server is the emulated API server: controller-runtime's fake client over a store that behaves, where the walk relies on
// it, as kube-apiserver was measured to behave. What it emulates is held to a real one by package apitest.
type Server struct {
	// Deny: the emulated guard is installed. Without it claimed addresses are open to everybody.
	Deny bool

	scheme *runtime.Scheme
	mapper meta.RESTMapper
	now    func() time.Time
	store  *store
	fake   client.WithWatch
	user   User
	// seeding: what is stored now was there before, whatever the rules of today say.
	seeding bool
}

// Write is one request that changes something.
type Write struct {
	Verb, Kind, Namespace, Name string
	Status                      bool
}

// Tap watches one user's requests. An error of Look or Before is the answer to the request, which is then not made.
type Tap interface {
	Look() error
	Before(Write) error
	After(Write) error
}

// NewScheme registers every kind that the embedded world knows.
func NewScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, v1alpha1.AddToScheme, gatewayv1.Install, gatewayv1beta1.Install, metallb.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NewServer starts empty. now is the clock of creation times.
func NewServer(now func() time.Time) (*Server, error) {
	s, err := NewScheme()
	if err != nil {
		return nil, err
	}
	srv := &Server{Deny: true, scheme: s, mapper: newMapper(s), now: now}
	srv.store = newStore(srv, testing.NewObjectTracker(s, scheme.Codecs.UniversalDecoder()))
	srv.fake = fake.NewClientBuilder().WithScheme(s).WithRESTMapper(srv.mapper).WithObjectTracker(srv.store).
		WithGlobalResourceVersionCounter().WithStatusSubresource(statusKinds()...).Build()
	return srv, nil
}

func statusKinds() []client.Object {
	return append(
		metallb.StatusKinds(),
		&v1alpha1.MigrationPolicy{}, &v1alpha1.DNSZone{}, &v1alpha1.EntryPoint{}, &v1alpha1.AddressClaim{}, &v1alpha1.Observation{},
		&gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}, &gatewayv1.TLSRoute{}, &gatewayv1.TCPRoute{},
		&gatewayv1.UDPRoute{},
	)
}

// newMapper serves the kinds of the scheme, as a cluster with all their CRDs would.
func newMapper(s *runtime.Scheme) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(s.PrioritizedVersionsAllGroups())
	for gvk := range s.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if clusterScoped(gvk.Kind) {
			scope = meta.RESTScopeRoot
		}
		m.Add(gvk, scope)
	}
	return m
}

func clusterScoped(kind string) bool {
	switch kind {
	case "Node", "Namespace", "ServiceCIDR", "IPAddress", "GatewayClass", "MigrationPolicy", "DNSZone", "EntryPoint", "AddressClaim",
		"MigrationRecord", "Observation":
		return true
	}
	return false
}

// As is a client of one user. tap may be nil.
func (s *Server) As(user User, tap Tap) client.WithWatch {
	return interceptor.NewClient(s.fake, (&session{server: s, user: user, tap: tap}).funcs())
}

// session is one user's connection.
type session struct {
	server *Server
	user   User
	tap    Tap
}

func (c *session) look() error {
	if c.tap == nil {
		return nil
	}
	return c.tap.Look()
}

// write makes one request as the user of the session, between the calls of the tap.
func (c *session) write(w Write, dry bool, do func() error) error {
	if err := c.look(); err != nil {
		return err
	}
	if dry || c.tap == nil {
		return c.as(do)
	}
	if err := c.tap.Before(w); err != nil {
		return err
	}
	if err := c.as(do); err != nil {
		return err
	}
	return c.tap.After(w)
}

func (c *session) as(do func() error) error {
	before := c.server.user
	c.server.user = c.user
	defer func() { c.server.user = before }()
	return do()
}

func (c *session) describe(verb string, obj client.Object, status bool) Write {
	w := Write{Verb: verb, Namespace: obj.GetNamespace(), Name: obj.GetName(), Status: status}
	if gvk, err := c.server.fake.GroupVersionKindFor(obj); err == nil {
		w.Kind = gvk.Kind
	}
	return w
}

// get and list are answered from the store itself: the same objects, without a detour through their text.
func (c *session) get(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if err := c.look(); err != nil {
		return err
	}
	return c.server.store.cache.Get(ctx, key, obj, o...)
}

func (c *session) list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.look(); err != nil {
		return err
	}
	return c.server.store.cache.List(ctx, list, opts...)
}
