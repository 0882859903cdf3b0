package dnsctl

import (
	"fmt"
	"strconv"
	"strings"
)

// Nsupdate prints the change as input for nsupdate(1), prerequisites included, for a zone that a human writes. Fed to
// nsupdate unchanged it does what the port's Update does. It refuses what would not be one harmless line each.
func (c Change) Nsupdate(zone Zone) (string, error) {
	for _, name := range []string{fold(c.Name), fold(zone.Apex)} {
		if err := ValidateName(name); err != nil {
			return "", err
		}
	}
	if alias := c.Before.Records.Alias + c.After.Records.Alias; alias != "" {
		return "", fmt.Errorf("name %s is an alias of %s: move the target, in its own zone", c.Name, alias)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "; %s: %s -> %s\n", c.Name, c.Before.Records, c.After.Records)
	if zone.Primary != "" {
		fmt.Fprintf(&b, "server %s\n", serverWords(zone.Primary))
	}
	fmt.Fprintf(&b, "zone %s.\n", fold(zone.Apex))
	for _, f := range []family{familyA, familyAAAA} {
		b.WriteString(prerequisite(fold(c.Name), f, f.of(c.Before.Records)))
	}
	fmt.Fprintf(&b, "prereq nxrrset %s. IN CNAME\n", fold(c.Name))
	if err := markLines(&b, c, "prereq"); err != nil {
		return "", err
	}
	for _, f := range []family{familyA, familyAAAA} {
		b.WriteString(replacement(fold(c.Name), f, f.of(c.Before.Records), f.of(c.After.Records)))
	}
	if err := markLines(&b, c, "update"); err != nil {
		return "", err
	}
	b.WriteString("send\n")
	return b.String(), nil
}

// serverWords turns host:port into the two words that nsupdate wants.
func serverWords(hostport string) string {
	i := strings.LastIndexByte(hostport, ':')
	if i < 0 {
		return hostport
	}
	return strings.Trim(hostport[:i], "[]") + " " + hostport[i+1:]
}

func prerequisite(name string, f family, before RRset) string {
	if len(before.Addresses) == 0 {
		return fmt.Sprintf("prereq nxrrset %s. IN %s\n", name, f)
	}
	var b strings.Builder
	for _, a := range sorted(before.Addresses) {
		fmt.Fprintf(&b, "prereq yxrrset %s. IN %s %s\n", name, f, a)
	}
	return b.String()
}

func replacement(name string, f family, before, after RRset) string {
	var b strings.Builder
	if len(before.Addresses)+len(after.Addresses) > 0 {
		fmt.Fprintf(&b, "update delete %s. IN %s\n", name, f)
	}
	for _, a := range sorted(after.Addresses) {
		fmt.Fprintf(&b, "update add %s. %d IN %s %s\n", name, after.TTL, f, a)
	}
	return b.String()
}

// markLines prints the lines about the mark of one section: prereq or update.
func markLines(b *strings.Builder, c Change, section string) error {
	before, err := markText(c.Before.Mark)
	if err != nil {
		return err
	}
	after, err := markText(c.After.Mark)
	if err != nil {
		return err
	}
	name := MarkName(c.Name)
	switch {
	case section == "prereq" && before == "":
		fmt.Fprintf(b, "prereq nxrrset %s. IN TXT\n", name)
	case section == "prereq":
		fmt.Fprintf(b, "prereq yxrrset %s. IN TXT %s\n", name, quoted(before))
	case before+after != "":
		fmt.Fprintf(b, "update delete %s. IN TXT\n", name)
	}
	if section == "update" && after != "" {
		fmt.Fprintf(b, "update add %s. %d IN TXT %s\n", name, MarkTTL(c.After.Records), quoted(after))
	}
	return nil
}

func markText(m Mark) (string, error) {
	if m.IsZero() {
		return "", nil
	}
	return EncodeMark(m)
}

// quoted prints the character-strings of a TXT record.
func quoted(text string) string {
	var words []string
	for _, s := range CharacterStrings(text) {
		words = append(words, strconv.Quote(s))
	}
	return strings.Join(words, " ")
}

// CharacterStrings cuts a text into the character-strings of a TXT record: at most 255 octets each (RFC 1035 section
// 3.3). Cut the same way every time, the record can be named in a prerequisite.
func CharacterStrings(text string) []string {
	var out []string
	for len(text) > 255 {
		out, text = append(out, text[:255]), text[255:]
	}
	return append(out, text)
}
