package inventory

import "offramp.dev/api/v1alpha1"

// ReasonDoc explains one reason code.
type ReasonDoc struct {
	Code string
	// Severities that findings with this code can have, the worst first.
	Severities []v1alpha1.Severity
	Meaning    string
	WayOut     string
}

// Reasons explains every reason code of the inventory, in the order of the page: addresses, names, Services, owners,
// policy and cluster.
func Reasons() []ReasonDoc {
	var out []ReasonDoc
	for _, part := range [][]ReasonDoc{
		addressReasons(), pathReasons(), sharingReasons(), conflictReasons(), nameReasons(), serviceReasons(), ownerReasons(), policyReasons(),
		clusterReasons(),
	} {
		out = append(out, part...)
	}
	return out
}

func doc(code, meaning, wayOut string, severities ...v1alpha1.Severity) ReasonDoc {
	return ReasonDoc{Code: code, Severities: severities, Meaning: meaning, WayOut: wayOut}
}

func addressReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonAPIServerAddress, "Clients reach the API server under the address.", "Give the application another address.", block),
		doc(ReasonControlPlaneAddress, "The address belongs to a control-plane node.", "Give the application another address.", block),
		doc(ReasonNodeAddress, "The address belongs to a node. Adopted in place it is only told; left for another address, forwards of a "+
			"router stay behind; "+
			"in ipvs mode it cannot be adopted.", "Adopt it, or change what forwards to the node.", block, ask, inform),
		doc(ReasonClusterDNSAddress, "Pods send their DNS queries to the address.", "Remove the value.", block),
		doc(ReasonServiceRangeAddress, "The address is a cluster IP, or lies in a Service range.", "Remove the value.", block),
		doc(ReasonPodAddress, "The address lies in a node's pod range.", "Remove the value.", block),
		doc(ReasonLoopbackAddress, "The address is a loopback address.", "Remove the value.", block),
		doc(ReasonBroadcastAddress, "The address is 255.255.255.255.", "Remove the value.", block),
		doc(ReasonUnroutableAddress, "The address is unspecified, link-local or multicast.", "Remove the value.", block),
		doc(ReasonBadAddress, "The value is no address: a name, a range, a zone, brackets, a port.", "Correct or remove it.", block),
		doc(ReasonNonCanonicalAddress, "The address is not in canonical form. With leading zeros or IPv4-mapped, an API server since 1.36 "+
			"would not take it back.",
			"Write the canonical form.", ask, inform),
		doc(ReasonDuplicateAddress, "One Service lists the address twice.", "Remove the second value.", cleanUp),
		doc(ReasonTooManyAddresses, "There are more addresses than one entry point may have (32).", "Remove dead ones, or split the Service.",
			block),
		doc(ReasonSeveralAddresses, "Several addresses of one family become one, served by one node or route, with seconds of failover; "+
			"adopted they stay.",
			"Agree to one address, or split the Service.", ask, inform),
		doc(ReasonHostPort, "On a node's address the Service hides a port that hosts listen on (ssh, etcd, kubelet, API server).",
			"Close the port on the host before release.", ask),
		doc(ReasonMailReputation, "The port is mail: reverse DNS, SPF and reputation belong to the address.", "Keep the address (Adopt).",
			inform),
		doc(ReasonAddressBakedIn, "By its selector the application hands its own address to clients. Told only, once annotation "+
			"offramp.dev/strategy says Adopt.", "Confirm that the address stays, or change what it advertises.", ask, inform),
	}
}

func pathReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonFamilyMismatch, "The Service does not serve the family of an address, or cannot serve both; no plan is made.",
			"Remove the addresses of that family, or ask for dual stack.", block),
		doc(ReasonAnnouncedByField, "A network plugin (Calico, Cilium, kube-router) announces the address because of the field: the route and "+
			"established connections go with it. Blocks adopting where the plugin would not announce it as a load balancer's.",
			"Announce it as a load balancer's first; let no connection be left before the field goes.", block, inform),
		doc(ReasonAttractionDiffers, "The policy says that packets come without the field, and an announcer is seen that needs it.",
			"Correct spec.drain.attraction of the policy.", ask),
		doc(ReasonOutsideServedRange, "The address lies outside kube-router's --service-external-ip-range: declared, but not served.",
			"Prove by a probe that it is dead and remove it, or add the range.", ask),
		doc(ReasonHeldOnInterface, "keepalived or kube-vip keeps the address on a node's interface; one address has one holder.",
			"Keep it there, or stop it there before a load balancer announces it.", ask, inform),
		doc(ReasonAddressCarried, "Arguments or variables of Pods hold the address. Asked within the Service's namespace, told of others.",
			"Give them a name before the address is given up.", ask, inform),
		doc(ReasonNetworkPolicy, "An ipBlock of a NetworkPolicy names the address.", "Add the new address where it is needed.", inform),
	}
}

func conflictReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonOutsidePools, "Conflict view only: the address lies in no pool.", "Ask whose it is.", inform),
		doc(ReasonClaimDenied, "Conflict view only: somebody tried to write the address and was refused (audit log).",
			"Give that user an address from a pool.", inform),
	}
}

func sharingReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonAddressConflict, "Two objects serve the same address, port and protocol; chance decides who gets a connection.",
			"Take it out of all but one.", block),
		doc(ReasonSharedAddress, "Objects outside the entry point use the address on other ports, and stay there. Asked, where one of them "+
			"has no name of its own and names leave the address.",
			"Migrate them too before the address is given up.", ask, inform),
		doc(ReasonSharedAddressLocal, "Members cannot share one load balancer address: their externalTrafficPolicy differs, or is Local with "+
			"different selectors.",
			"Set Cluster on all, give them different names, or keep the address.", block),
	}
}

func nameReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonNoName, "No name leads to the entry point, so DNS cannot move its clients.", "Name it, keep the address, or tell every client.",
			ask, inform),
		doc(ReasonSharedName, "Several Services are joined by a name and move together.", "Nothing to do.", inform),
		doc(ReasonNameNotLive, "A candidate name does not answer with an address of the Service; it is not moved.",
			"Nothing to do, or remove it.", inform),
		doc(ReasonNameNotAllowed, "No zone grants the name to the namespace.", "Grant the domain in the DNSZone, or move the name by hand.", ask),
		doc(ReasonNameHasOthers, "A name also answers with addresses of others; those stay in it.", "Nothing to do.", inform),
		doc(ReasonHostnameInvalid, "A candidate is no DNS name.", "Correct or remove it.", ask),
		doc(ReasonTooManyNames, "A Service brings more names than it may (64).", "Use a common CNAME target, or split the Service.", block),
		doc(ReasonIngressStatus, "An Ingress controller copies the Service's addresses into the status of Ingresses, whose names may follow it.",
			"Publish the new address explicitly before the field goes.", ask, inform),
		doc(ReasonReadAsData, "istiod (mesh gateways) or CoreDNS (k8s_external) hands the addresses on; with two live it hands out both.",
			"Let those clients reach both.", inform),
		doc(ReasonExternalDNS, "external-dns reads the Service, a DNSEndpoint names the address, or a live record carries its mark. Of a LoadBalancer or ExternalName Service it publishes externalIPs, so "+
			"records change when the field goes.",
			"Hold the records with its target annotation.", ask, inform),
	}
}

func serviceReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonInertField, "The field, or one value of it, carries no traffic: headless, ExternalName, or of another IP family.", "Remove it.",
			cleanUp),
		doc(ReasonExistingLoadBalancer, "The Service is of type LoadBalancer. On the same addresses the field is redundant; on others, or on "+
			"none, a human decides.",
			"Remove the field, move the names to the load balancer, or see why it has no address.", ask, cleanUp),
		doc(ReasonDataPlane, "The Pods are themselves an Ingress or Gateway data plane.", "Nothing to do.", inform),
		doc(ReasonUDP, "A port is UDP: drained means no packets at all, and no probe gets a reply.", "Where all ports are UDP, sign a waiver of the gate Proven.", inform),
		doc(ReasonSCTP, "A port is SCTP, which no Gateway route serves.", "Nothing to do.", inform),
		doc(ReasonBroadcastPort, "A port is DHCP, whose clients send broadcasts.", "Serve it from the host network.", block),
		doc(ReasonTooManyPorts, "A Gateway would need more than 64 listeners.", "Ask for strategy LoadBalancer, or split the Service.", block),
		doc(ReasonSessionAffinity, "Clients stick to a Pod by their address; behind a Gateway that is lost.", "Keep LoadBalancer or Adopt.",
			inform),
		doc(ReasonLocalTrafficPolicy, "Pods see the client's address; behind a Gateway that is lost.", "Keep LoadBalancer or Adopt.", inform),
		doc(ReasonSourceRanges, "loadBalancerSourceRanges were inert for externalIPs and begin to filter.", "Check the ranges, or remove them.",
			ask),
		doc(ReasonPolicyAnnotation, "An annotation changes how the address is served, and the new address is served without it.",
			"Confirm, or keep the address.", ask),
		doc(ReasonNoEndpoints, "No Pod is ready, so no new path can be proven.", "Start the Pods, or remove the Service.", ask),
		doc(ReasonSelectorLess, "Somebody else writes the endpoints; a second Service would have none.", "Choose Adopt or Gateway.", block,
			inform),
		doc(ReasonForeignEndpoints, "An EndpointSlice that the cluster's controllers did not write adds endpoints, or leads to a node, the API "+
			"server or a name server.", "See who wrote it.", ask),
		doc(ReasonTerminating, "The Service is being deleted.", "Let the deletion end.", block, inform),
		doc(ReasonDuplicateService, "The input holds the Service more than once.", "Give it once.", ask),
		doc(ReasonHintIgnored, "The strategy hint cannot be followed.", "Correct or remove it.", ask),
	}
}

func ownerReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonOwnedByGateway, "A Gateway implementation writes the Service.", "Migrate at the Gateway, or at its proxy settings.", block),
		doc(ReasonFieldInObject, "An object of another project holds externalIPs that no Service holds yet.", "Migrate in that object.", ask),
		doc(ReasonOwnedByOpenShift, "OpenShift assigns the addresses.", "Remove autoAssignCIDRs first.", block),
		doc(ReasonFieldInjected, "externalip-manager keeps writing the field.", "Remove its annotation.", block),
		doc(ReasonOwnedByController, "An operator writes the Service from an object of its own.", "Edit that object when the walk asks for it.",
			ask),
		doc(ReasonOwnedByGitOps, "The Service is applied from a repository or a Terraform state. To adopt it, the first step is an edit there.",
			"Edit there when the walk prints it.", ask, inform),
		doc(ReasonOwnedByHelm, "A Helm release renders the Service. To adopt it, the first step is an edit there.",
			"Change its values when the walk prints it.", ask, inform),
		doc(ReasonAppliedFromFile, "kubectl apply wrote the field, and would write it again.", "Remove it from the file too.", inform),
	}
}

func policyReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonMembersIncomplete, "Only some members opted in.", "Annotate the others, or leave them out in spec.members.", ask),
		doc(ReasonGroupChanged, "A Service joined the group of a walk that is under way.", "Take its annotation off until the walk has ended, or go back and move both together.", ask),
		doc(ReasonPoliciesDiffer, "Members opted into different policies.", "Annotate all with one.", block),
		doc(ReasonPolicyMissing, "The named policy does not exist.", "Create it, or name another.", block),
		doc(ReasonPolicyForbidsNamespace, "The policy does not list the namespace.", "Add it to spec.namespaces.", block),
		doc(ReasonPolicyForbidsStrategy, "The policy does not allow the strategy.", "Add it to spec.strategies, or ask for another.", block),
		doc(ReasonPoolMissing, "The policy names no pool, or none that exists.", "Add one to spec.pools.", block),
		doc(ReasonPoolUnusable, "None of the policy's pools can serve it.", "Correct the pool or its advertisements.", block),
	}
}

func clusterReasons() []ReasonDoc {
	return []ReasonDoc{
		doc(ReasonPoolTouchesReserved, "A pool holds addresses of nodes, Pods, Services, the API server or name servers.",
			"Take them out of the pool.", block),
		doc(ReasonPoolNotAnnounced, "No advertisement selects the pool.", "Create one.", ask),
		doc(ReasonPoolUnreadable, "It cannot be told who may take from the pool.", "Limit it by namespaces.", inform),
		doc(ReasonPoolAutoAssign, "A pool may hand an externalIP in use to any Service.", "Set autoAssign: false.", ask),
		doc(ReasonNoEligibleAnnouncer, "Every node is excluded from load balancers.", "Remove the label from a node.", block),
		doc(ReasonServiceLBActive, "k3s ServiceLB would take the new Service as well.", "Disable it, or give MetalLB a class.", block),
		doc(ReasonOtherAllocator, "Cilium's LB-IPAM or Node IPAM would serve the new Service too.", "Narrow it, or give MetalLB a class.", ask),
		doc(ReasonKubeProxyFree, "Cilium, kube-router or Calico serves Services; the gate AllowServiceExternalIPs does not apply.",
			"Read that project's release notes; probe from outside.", inform),
		doc(ReasonGateOff, "kube-proxy is told to serve no externalIPs (AllowServiceExternalIPs: false).",
			"Probe the addresses; remove what does not answer.", ask),
		doc(ReasonIPVSMode, "In ipvs mode established connections end when the field goes.", "Wait for zero connections.", inform),
		doc(ReasonUnseen, "Something could not be looked at, so what depends on it is unknown.", "Grant the right to read it.", inform),
	}
}
