package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

func (a *app) snapshotCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "snapshot export|verify|import",
		Short: "Keep the way back outside the cluster, check it, and bring it back",
		Long: `Keep the way back outside the cluster, check it, and bring it back.

An export is the whole MigrationRecord: the Services, record sets and plans as they were recorded, and the journal, with one
SHA-256 over all of it. Whoever can import one decides what the way back writes: it takes the right to create
MigrationRecords, which no role of Offramp grants.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.AddCommand(a.snapshotExport(), a.snapshotVerify(), a.snapshotImport())
	return command
}

func (a *app) snapshotExport() *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:               "export NAME",
		Short:             "Print the record of an entry point: snapshot, plans and journal, with a hash over all",
		Example:           "  kubectl offramp snapshot export shop-web-1a2b3c4d > shop-web.record.yaml",
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runSnapshotExport(c.Context(), args[0], format) },
	}
	outputFlag(command, &format, "yaml", "json")
	return command
}

func (a *app) runSnapshotExport(ctx context.Context, name, format string) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	rec, err := recordOf(ctx, conn.Client, name)
	if err != nil {
		return err
	}
	if _, err := migration.VerifyRecord(rec, false); err != nil {
		return fmt.Errorf("MigrationRecord %s is damaged and cannot be exported: %w", rec.Name, err)
	}
	out, err := migration.ExportRecord(rec)
	if err != nil {
		return err
	}
	a.say("MigrationRecord %s, %d lines of journal, sha256 %s", rec.Name, len(rec.Spec.Journal), out.Annotations[migration.ExportSeal])
	return a.encode(format, out)
}

// recordOf is the record that the status of an entry point names, or the record of that name: it outlives its EntryPoint.
func recordOf(ctx context.Context, c client.Reader, name string) (*v1alpha1.MigrationRecord, error) {
	var rec v1alpha1.MigrationRecord
	if !strings.Contains(name, "/") {
		err := c.Get(ctx, client.ObjectKey{Name: name}, &rec)
		if err == nil {
			return &rec, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading MigrationRecord %s: %w", name, err)
		}
	}
	e, err := find(ctx, c, name)
	if err != nil {
		return nil, fmt.Errorf("no MigrationRecord %q, and %w", name, err)
	}
	if e.Status.Record == "" {
		return nil, fmt.Errorf("%s has no record: nothing was recorded yet (gate Recorded, goal Stage)", e.Name)
	}
	if err := c.Get(ctx, client.ObjectKey{Name: e.Status.Record}, &rec); err != nil {
		return nil, fmt.Errorf("reading MigrationRecord %s: %w (if it is lost, kubectl offramp snapshot import brings an export back)", e.Status.Record, err)
	}
	return &rec, nil
}

func (a *app) snapshotVerify() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "verify {NAME | -f FILE}",
		Short: "Compute every hash of a record anew, and say which of its Services are still the same",
		Long: `Compute every hash of a record anew: of one in the cluster, or of an export, and read what the way back needs of it. With a
NAME it also says which Services of the snapshot are gone, or were created anew: of those nothing can be put back.

Exit codes: 0 sound; 2 sound, but a Service is not the same any more; 1 damaged, or it cannot be read.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runSnapshotVerify(c.Context(), args, file) },
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "an export; - is standard input")
	return command
}

func (a *app) runSnapshotVerify(ctx context.Context, args []string, file string) error {
	switch {
	case (len(args) == 0) == (file == ""):
		return errors.New("name an entry point or a record, or give an export with -f: one of them")
	case file != "":
		rec, snap, err := a.readExport(file)
		if err != nil {
			return err
		}
		return a.print(soundness(rec, snap))
	}
	conn, err := a.open()
	if err != nil {
		return err
	}
	rec, err := recordOf(ctx, conn.Client, args[0])
	if err != nil {
		return err
	}
	snap, err := migration.VerifyRecord(rec, false)
	if err != nil {
		return fmt.Errorf("MigrationRecord %s is damaged: %w", rec.Name, err)
	}
	if err := a.print(soundness(rec, snap)); err != nil {
		return err
	}
	_, lost, err := stillThere(ctx, conn.Client, snap)
	if err != nil {
		return err
	}
	for _, text := range lost {
		a.say("%s", oneLine(text))
	}
	if len(lost) > 0 {
		return errFindings
	}
	return nil
}

// soundness says what a record holds that was found sound.
func soundness(rec *v1alpha1.MigrationRecord, snap *migration.Snapshot) string {
	if snap == nil {
		return fmt.Sprintf("%s: sound; forgotten, so it holds no snapshot\n", oneLine(rec.Name))
	}
	return fmt.Sprintf("%s: sound; %d Services, %d names, %d plans, %d lines of journal, snapshot sha256 %s\n", oneLine(rec.Name), len(snap.Services),
		len(snap.Names), len(rec.Spec.Plans), len(rec.Spec.Journal), rec.Spec.Snapshot.SHA256)
}

// mostExport is the size of the largest export: what an API server stores of one object, escaped once more.
const mostExport = 8 << 20

// readExport reads and verifies an export. Unknown fields are refused: this version would drop them.
func (a *app) readExport(file string) (*v1alpha1.MigrationRecord, *migration.Snapshot, error) {
	in := a.In
	if file != "-" {
		f, err := os.Open(filepath.Clean(file))
		if err != nil {
			return nil, nil, fmt.Errorf("reading the export: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostExport+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(text) > mostExport {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes, so it is no export", file, mostExport)
	}
	var rec v1alpha1.MigrationRecord
	if err := yaml.UnmarshalStrict(text, &rec); err != nil {
		return nil, nil, fmt.Errorf("%s does not decode into a MigrationRecord: %w", file, err)
	}
	if rec.Kind != "MigrationRecord" || rec.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, nil, fmt.Errorf("%s holds a %q of %q, not an export of kubectl offramp snapshot export", file, rec.Kind, rec.APIVersion)
	}
	snap, err := migration.VerifyRecord(&rec, true)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is damaged: %w", file, err)
	}
	return &rec, snap, nil
}

// stillThere tells the Services of a snapshot that are the same objects from those that are gone or were created anew.
func stillThere(ctx context.Context, c client.Reader, snap *migration.Snapshot) (same int, lost []string, err error) {
	if snap == nil {
		return 0, nil, nil
	}
	for _, s := range snap.Services {
		var live corev1.Service
		err := c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, &live)
		switch {
		case apierrors.IsNotFound(err):
			lost = append(lost, fmt.Sprintf("Service %s/%s is gone: nothing of it can be put back", s.Namespace, s.Name))
		case err != nil:
			return 0, nil, fmt.Errorf("reading Service %s/%s: %w", s.Namespace, s.Name, err)
		case string(live.UID) != s.UID:
			lost = append(lost, fmt.Sprintf("Service %s/%s was created anew (UID %s, the snapshot is of %s): nothing of the first is put back to it",
				s.Namespace, s.Name, live.UID, s.UID))
		default:
			same++
		}
	}
	return same, lost, nil
}
