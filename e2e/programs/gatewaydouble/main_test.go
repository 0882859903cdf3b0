package main

import (
	"strings"
	"testing"

	"offramp.dev/e2e/gatewaydouble"
)

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	for args, want := range map[string]string{
		"--selector=app=x":                                     "--namespace",
		"--namespace=gateways":                                 "--selector",
		"--namespace=gateways --selector=app":                  "key=value",
		"--namespace=gateways --selector=app=x --misbehave=no": "external-ips",
		"--namespace=gateways --selector=app=x --ports=9-8":    "--ports",
		"--namespace=gateways --selector=app=x --ports=1":      "ports",
		"--namespace=gateways --selector=app=x more":           "more",
	} {
		if _, err := options(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to name %s", args, err, want)
		}
	}
}

func TestFlagsAreRead(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "gateways")
	o, err := options(strings.Fields("--selector=app=x,tier=y --ports=1000-2000 --misbehave=no-address --linger=1s"))
	if err != nil {
		t.Fatal(err)
	}
	if o.Namespace != "gateways" || o.Selector["tier"] != "y" || o.Ports != (gatewaydouble.PortRange{First: 1000, Last: 2000}) ||
		o.Misbehave != gatewaydouble.NoAddress || o.Linger.Seconds() != 1 || o.Health != ":8081" {
		t.Errorf("got %+v", o)
	}
}
