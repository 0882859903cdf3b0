package cli

import (
	"fmt"
	"strconv"
	"strings"

	"offramp.dev/inventory"
)

// details tell everything that is known of each entry point, then what is claimed twice.
func (i *inventoryView) details() string {
	var out strings.Builder
	for _, e := range i.EntryPoints {
		i.entryPoint(&out, e)
	}
	if len(i.Conflicts) > 0 {
		out.WriteString("\nConflicts, the riskiest first\n")
		for _, c := range i.Conflicts {
			out.WriteString(conflictLines(c))
		}
	}
	return out.String()
}

func (i *inventoryView) entryPoint(out *strings.Builder, e inventory.EntryPoint) {
	fmt.Fprintf(out, "\n%s: %s (%s)\n", oneLine(e.Name), e.Verdict, e.Strategy)
	fmt.Fprintf(out, "  Services   %s\n", oneLine(strings.Join(i.placed(e.Services), ", ")))
	fmt.Fprintf(out, "  Why        %s\n", oneLine(e.Why))
	if len(e.Names) > 0 {
		fmt.Fprintf(out, "  Names      %s\n", oneLine(strings.Join(e.Names, ", ")))
	}
	for _, p := range e.DNS {
		fmt.Fprintf(out, "  DNS        %s\n", oneLine(pointerText(p)))
	}
	for _, a := range e.Attraction {
		fmt.Fprintf(out, "  Packets    %s: %s: %s\n", oneLine(a.Address), a.By, oneLine(a.Why))
	}
	for _, f := range e.Findings {
		fmt.Fprintf(out, "  %s\n", findingLine(f))
		if f.Fix != "" {
			fmt.Fprintf(out, "      -> %s\n", oneLine(f.Fix))
		}
	}
}

// placed are Services with the file and line where they stand, if they came from files.
func (i *inventoryView) placed(services []string) []string {
	out := make([]string, 0, len(services))
	for _, key := range services {
		if at := i.place("Service "+key, "externalIPs"); at != nil {
			key += " (" + at.String() + ")"
		}
		out = append(out, key)
	}
	return out
}

// pointerText is one record in words.
func pointerText(p inventory.Pointer) string {
	value := strings.Join(p.Addresses, ", ")
	if p.Target != "" {
		value = p.Target + " (" + value + ")"
	}
	out := p.Name + " " + strconv.FormatUint(uint64(p.TTL), 10) + " " + p.Type + " " + value
	if p.Owner != "" {
		out += ", owned by " + p.Owner
	}
	if p.MovesByItself {
		out += ", moves by itself when the Service changes"
	}
	return out
}
