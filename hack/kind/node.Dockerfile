# The node image for kind where kindest/node cannot be pulled: Debian, systemd, containerd and kubeadm, with kind's own files.
FROM @BASE@
COPY files/usr/local/bin/ /usr/local/bin/
COPY files/kind/ /kind/
COPY files/etc/ /etc/
COPY bin/ /usr/local/bin/
COPY cni/ /opt/cni/bin/
RUN chmod 755 /usr/local/bin/* /kind/bin/* \
 && ln -sf /usr/sbin/runc /usr/local/sbin/runc \
 && ln -sf /usr/local/bin/kubelet /usr/local/bin/kubeadm /usr/local/bin/kubectl /usr/bin/ \
 && rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* /lib/systemd/system/local-fs.target.wants/* \
      /lib/systemd/system/sockets.target.wants/*udev* /lib/systemd/system/sockets.target.wants/*initctl* /lib/systemd/system/basic.target.wants/* \
 && find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete \
 && echo ReadKMsg=no >>/etc/systemd/journald.conf \
 && ln -sf /lib/systemd/systemd /sbin/init \
 && systemctl enable kubelet containerd undo-mount-hacks && systemctl mask systemd-binfmt \
 && mkdir -p /etc/kubernetes/manifests \
 && ctr oci spec | jq '.hooks.createContainer[.hooks.createContainer|length] |= . + {"path":"/kind/bin/mount-product-files.sh"} | del(.process.rlimits)' >/etc/containerd/cri-base.json \
 && echo @KUBERNETES_VERSION@ >/kind/version
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
