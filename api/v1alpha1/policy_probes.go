package v1alpha1

// ProbeAspect is one thing in which the answers of the two paths may differ.
// +kubebuilder:validation:Enum=Status;Certificate;Chain;ALPN;Headers;Body;Latency
type ProbeAspect string

// The aspects.
const (
	// AspectStatus: the class of the HTTP status.
	AspectStatus ProbeAspect = "Status"
	// AspectCertificate: the names of the leaf and whether it is valid now. Another leaf for the same names is expected.
	AspectCertificate ProbeAspect = "Certificate"
	// AspectChain: the certificates above the leaf.
	AspectChain ProbeAspect = "Chain"
	// AspectALPN: the protocol that the server chooses of h2 and http/1.1.
	AspectALPN ProbeAspect = "ALPN"
	// AspectHeaders: the values of probes.headers.
	AspectHeaders ProbeAspect = "Headers"
	// AspectBody: the first 64 KiB, where they stay the same from round to round on each path.
	AspectBody ProbeAspect = "Body"
	// AspectLatency: the time that 95 of 100 checks do not exceed.
	AspectLatency ProbeAspect = "Latency"
)

// ProbeKind is how a port is checked.
// +kubebuilder:validation:Enum=TCP;Held;TLS;HTTP;HTTPS;HTTP2;GRPC;GRPCS;UDP
type ProbeKind string

// PortProbe says how one port is checked, where the admin knows more of it than its Service says.
// +kubebuilder:validation:XValidation:rule="(self.protocol == 'UDP') == (self.kind == 'UDP')",message="kind UDP goes with protocol UDP, every other kind with protocol TCP"
// +kubebuilder:validation:XValidation:rule="self.kind != 'UDP' || (has(self.payload) && self.payload.size() > 0)",message="kind UDP needs payload: the bytes, in base64, that the server answers"
// +kubebuilder:validation:XValidation:rule="self.kind == 'UDP' || (!has(self.payload) && !has(self.expect))",message="payload and expect go with kind UDP"
// +kubebuilder:validation:XValidation:rule="has(self.holdSeconds) == (self.kind == 'Held')",message="holdSeconds goes with kind Held: set both or neither"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || self.kind == 'GRPC' || self.kind == 'GRPCS'",message="service goes with kind GRPC or GRPCS"
type PortProbe struct {
	// protocol of the port: TCP or UDP.
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol string `json:"protocol"`
	// port number of the Service.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// kind of the check. HTTP2 is without TLS; HTTPS, GRPCS and TLS ask with the host as SNI; GRPC and GRPCS ask the standard
	// health service; Held keeps a connection, from vantage External only.
	// +required
	Kind ProbeKind `json:"kind"`
	// path that HTTP, HTTPS and HTTP2 ask for, instead of httpPath.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/[!-~]*)?$`
	Path string `json:"path,omitempty"`
	// service that a gRPC check asks the health of; empty: the whole server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[!-~]*$`
	Service string `json:"service,omitempty"`
	// payload of a UDP check, at most 512 bytes, in base64.
	// +optional
	// +kubebuilder:validation:MaxLength=684
	Payload []byte `json:"payload,omitempty"`
	// expect is how the answer to payload begins, in base64; empty: any answer is good.
	// +optional
	// +kubebuilder:validation:MaxLength=684
	Expect []byte `json:"expect,omitempty"`
	// holdSeconds that a Held connection must stand.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	HoldSeconds *int32 `json:"holdSeconds,omitempty"`
}
