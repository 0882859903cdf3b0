package inventory

// The reason codes of findings about addresses. All codes are stable: docs/reasons.md lists them with their severity, what
// they mean and the way out.
const (
	// ReasonNodeAddress says that the address belongs to a node.
	ReasonNodeAddress = "NodeAddress"
	// ReasonControlPlaneAddress says that the address belongs to a control-plane node.
	ReasonControlPlaneAddress = "ControlPlaneAddress"
	// ReasonAPIServerAddress says that clients reach the API server under the address.
	ReasonAPIServerAddress = "APIServerAddress"
	// ReasonPodAddress says that the address lies in a node's pod range.
	ReasonPodAddress = "PodAddress"
	// ReasonServiceRangeAddress says that the address is, or can become, a cluster IP.
	ReasonServiceRangeAddress = "ServiceRangeAddress"
	// ReasonClusterDNSAddress says that Pods send their DNS queries to the address.
	ReasonClusterDNSAddress = "ClusterDNSAddress"
	// ReasonLoopbackAddress says that the address is one of every host's own.
	ReasonLoopbackAddress = "LoopbackAddress"
	// ReasonBroadcastAddress says that the address is the limited broadcast address.
	ReasonBroadcastAddress = "BroadcastAddress"
	// ReasonUnroutableAddress says that the address is unspecified, link-local or multicast.
	ReasonUnroutableAddress = "UnroutableAddress"
	// ReasonBadAddress says that the value is no address.
	ReasonBadAddress = "BadAddress"
	// ReasonNonCanonicalAddress says that the address has another spelling than the canonical one.
	ReasonNonCanonicalAddress = "NonCanonicalAddress"
	// ReasonDuplicateAddress says that one Service lists the address twice.
	ReasonDuplicateAddress = "DuplicateAddress"
	// ReasonTooManyAddresses says that there are more addresses than one entry point may have.
	ReasonTooManyAddresses = "TooManyAddresses"
	// ReasonSeveralAddresses says that several addresses of one family become one.
	ReasonSeveralAddresses = "SeveralAddresses"
	// ReasonAddressConflict says that two objects serve the same address, port and protocol.
	ReasonAddressConflict = "AddressConflict"
	// ReasonSharedAddress says that objects outside the entry point use the address on other ports.
	ReasonSharedAddress = "SharedAddress"
	// ReasonSharedAddressLocal says that members cannot share one new address, because one of them is Local.
	ReasonSharedAddressLocal = "SharedAddressLocal"
	// ReasonHostPort says that the port hides one that hosts usually listen on.
	ReasonHostPort = "HostPort"
	// ReasonMailReputation says that the address has a reputation as a mail server.
	ReasonMailReputation = "MailReputation"
	// ReasonFamilyMismatch says that the Service does not serve the family of an address, so that no plan is made.
	ReasonFamilyMismatch = "FamilyMismatch"
	// ReasonAnnouncedByField says that a network plugin announces the address because of the field.
	ReasonAnnouncedByField = "AnnouncedByField"
	// ReasonAttractionDiffers says that the policy's word on the attraction is not what is seen.
	ReasonAttractionDiffers = "AttractionDiffers"
	// ReasonOutsideServedRange says that kube-router is told not to serve the address.
	ReasonOutsideServedRange = "OutsideServedRange"
	// ReasonHeldOnInterface says that keepalived or kube-vip keeps the address on a node's interface.
	ReasonHeldOnInterface = "HeldOnInterface"
	// ReasonAddressCarried says that a workload in the cluster has the address written down.
	ReasonAddressCarried = "AddressCarried"
	// ReasonNetworkPolicy says that a NetworkPolicy names the address.
	ReasonNetworkPolicy = "NamedByNetworkPolicy"
	// ReasonAddressBakedIn says that the application hands its own address to clients.
	ReasonAddressBakedIn = "AddressBakedIn"
)

// The reason codes of the conflict view, beside those above.
const (
	// ReasonOutsidePools says that the address lies in no pool.
	ReasonOutsidePools = "OutsidePools"
	// ReasonClaimDenied says that somebody tried to write the address and was refused.
	ReasonClaimDenied = "ClaimDenied"
)

// The reason codes of findings about names.
const (
	// ReasonIngressStatus says that the address is copied into the status of Ingresses.
	ReasonIngressStatus = "IngressStatus"
	// ReasonReadAsData says that istiod or CoreDNS hands the field on as data.
	ReasonReadAsData = "ReadAsData"
	// ReasonNoName says that no name leads to the entry point.
	ReasonNoName = "NoName"
	// ReasonSharedName says that several Services are joined by a name.
	ReasonSharedName = "SharedName"
	// ReasonNameNotLive says that a candidate name does not answer with an address of the Service.
	ReasonNameNotLive = "NameNotLive"
	// ReasonNameNotAllowed says that no zone grants the name to the namespace.
	ReasonNameNotAllowed = "NameNotAllowed"
	// ReasonNameHasOthers says that a name answers with addresses that are not the entry point's.
	ReasonNameHasOthers = "NameHasOthers"
	// ReasonHostnameInvalid says that a candidate is no DNS name.
	ReasonHostnameInvalid = "HostnameInvalid"
	// ReasonTooManyNames says that there are more names than one Service may have.
	ReasonTooManyNames = "TooManyNames"
	// ReasonExternalDNS says that external-dns reads the Service.
	ReasonExternalDNS = "ExternalDNS"
)

// The reason codes of findings about the Service.
const (
	// ReasonInertField says that the field, or one value of it, carries no traffic.
	ReasonInertField = "InertField"
	// ReasonExistingLoadBalancer says that the Service is of type LoadBalancer already.
	ReasonExistingLoadBalancer = "ExistingLoadBalancer"
	// ReasonDataPlane says that the Pods are an Ingress or Gateway data plane.
	ReasonDataPlane = "DataPlaneService"
	// ReasonUDP says that a port is UDP.
	ReasonUDP = "UDPService"
	// ReasonSCTP says that a port is SCTP.
	ReasonSCTP = "SCTPPort"
	// ReasonBroadcastPort says that the port is served by broadcasts (DHCP).
	ReasonBroadcastPort = "BroadcastPort"
	// ReasonTooManyPorts says that a Gateway would need too many listeners.
	ReasonTooManyPorts = "TooManyPorts"
	// ReasonSessionAffinity says that clients stick to a Pod by source address.
	ReasonSessionAffinity = "SessionAffinity"
	// ReasonLocalTrafficPolicy says that Pods see the client's source address.
	ReasonLocalTrafficPolicy = "LocalTrafficPolicy"
	// ReasonSourceRanges says that loadBalancerSourceRanges, inert so far, would begin to filter.
	ReasonSourceRanges = "SourceRanges"
	// ReasonPolicyAnnotation says that an annotation changes how the address is served.
	ReasonPolicyAnnotation = "PolicyAnnotation"
	// ReasonNoEndpoints says that no Pod is ready behind the Service.
	ReasonNoEndpoints = "NoEndpoints"
	// ReasonSelectorLess says that somebody else writes the endpoints.
	ReasonSelectorLess = "SelectorLess"
	// ReasonForeignEndpoints says that somebody beside the cluster's controllers decides where the traffic goes.
	ReasonForeignEndpoints = "ForeignEndpoints"
	// ReasonTerminating says that the Service is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonDuplicateService says that the input holds the Service more than once.
	ReasonDuplicateService = "DuplicateService"
	// ReasonHintIgnored says that the strategy hint cannot be followed.
	ReasonHintIgnored = "HintIgnored"
)

// The reason codes of findings about who owns the Service.
const (
	// ReasonOwnedByGateway says that a Gateway implementation wrote the Service.
	ReasonOwnedByGateway = "OwnedByGateway"
	// ReasonOwnedByController says that an operator wrote the Service from an object of its own.
	ReasonOwnedByController = "OwnedByController"
	// ReasonFieldInObject says that an object of another project holds addresses that no Service holds yet.
	ReasonFieldInObject = "FieldInObject"
	// ReasonOwnedByOpenShift says that OpenShift assigns the addresses.
	ReasonOwnedByOpenShift = "OwnedByOpenShift"
	// ReasonFieldInjected says that a controller keeps putting addresses into the field.
	ReasonFieldInjected = "FieldInjected"
	// ReasonOwnedByGitOps says that the Service is applied from a repository or a Terraform state.
	ReasonOwnedByGitOps = "OwnedByGitOps"
	// ReasonOwnedByHelm says that a Helm release renders the Service.
	ReasonOwnedByHelm = "OwnedByHelm"
	// ReasonAppliedFromFile says that kubectl apply put the field there.
	ReasonAppliedFromFile = "AppliedFromFile"
)

// The reason codes of findings about policy and cluster.
const (
	// ReasonMembersIncomplete says that only some members opted in.
	ReasonMembersIncomplete = "MembersIncomplete"
	// ReasonGroupChanged says that a Service joined the group of a walk that is under way.
	ReasonGroupChanged = "GroupChanged"
	// ReasonPoliciesDiffer says that members opted into different policies.
	ReasonPoliciesDiffer = "PoliciesDiffer"
	// ReasonPolicyMissing says that the named policy does not exist.
	ReasonPolicyMissing = "PolicyMissing"
	// ReasonPolicyForbidsNamespace says that the policy does not list the namespace.
	ReasonPolicyForbidsNamespace = "PolicyForbidsNamespace"
	// ReasonPolicyForbidsStrategy says that the policy does not allow the strategy.
	ReasonPolicyForbidsStrategy = "PolicyForbidsStrategy"
	// ReasonPoolMissing says that the policy names no pool, or none that exists.
	ReasonPoolMissing = "PoolMissing"
	// ReasonPoolUnusable says that none of the policy's pools can serve the entry point.
	ReasonPoolUnusable = "PoolUnusable"
	// ReasonPoolTouchesReserved says that a pool holds addresses of nodes, Pods, Services, the API server or name servers.
	ReasonPoolTouchesReserved = "PoolTouchesReserved"
	// ReasonPoolNotAnnounced says that nobody would announce addresses of the pool.
	ReasonPoolNotAnnounced = "PoolNotAnnounced"
	// ReasonPoolUnreadable says that it cannot be told who may take from the pool.
	ReasonPoolUnreadable = "PoolUnreadable"
	// ReasonPoolAutoAssign says that a pool may hand an address in use to a stranger.
	ReasonPoolAutoAssign = "PoolAutoAssign"
	// ReasonNoEligibleAnnouncer says that every node is excluded from announcing.
	ReasonNoEligibleAnnouncer = "NoEligibleAnnouncer"
	// ReasonServiceLBActive says that a second load balancer controller would take the new Service.
	ReasonServiceLBActive = "ServiceLBActive"
	// ReasonOtherAllocator says that a second address manager would serve the new Service too.
	ReasonOtherAllocator = "OtherAllocator"
	// ReasonKubeProxyFree says that something else than kube-proxy serves Services.
	ReasonKubeProxyFree = "KubeProxyFree"
	// ReasonGateOff says that kube-proxy is told to serve no externalIPs.
	ReasonGateOff = "GateOff"
	// ReasonIPVSMode says that kube-proxy runs in ipvs mode.
	ReasonIPVSMode = "IPVSMode"
	// ReasonUnseen says that something could not be looked at.
	ReasonUnseen = "Unseen"
)
