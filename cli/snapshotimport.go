package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

type importFlags struct {
	file            string
	dryRun, partial bool
}

func (a *app) snapshotImport() *cobra.Command {
	var f importFlags
	command := &cobra.Command{
		Use:   "import -f FILE",
		Short: "Bring a lost record back from an export, so that the way back is open again",
		Long: `Bring a lost record back from an export, so that the way back is open again. A record that an etcd restore set back is led on
to where the export ends; one that knows more stays as it is; two different stories of one walk are refused.

It is refused where a Service of the snapshot is gone or was created anew, because nothing of it could be put back; --partial
imports for those that are left. The EntryPoint itself comes back at goal Report by the Services' annotations.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runSnapshotImport(c.Context(), f) },
	}
	command.Flags().StringVarP(&f.file, "filename", "f", "", "the export; - is standard input")
	command.Flags().BoolVar(&f.dryRun, "dry-run", false, "ask the API server without writing")
	command.Flags().BoolVar(&f.partial, "partial", false, "import although some of the Services are gone or were created anew")
	_ = command.MarkFlagRequired("filename")
	return command
}

func (a *app) runSnapshotImport(ctx context.Context, f importFlags) error {
	rec, snap, err := a.readExport(f.file)
	if err != nil {
		return err
	}
	if snap == nil {
		return fmt.Errorf("%s is of a forgotten walk and holds no snapshot: there is nothing to bring back", f.file)
	}
	conn, err := a.open()
	if err != nil {
		return err
	}
	if err := a.importable(ctx, conn.Client, rec, snap, f.partial); err != nil {
		return err
	}
	says, err := bringBack(ctx, conn.Client, rec, f.dryRun)
	if err != nil {
		return err
	}
	if f.dryRun {
		says = "(dry run) " + says
	}
	return a.print(rec.Name + ": " + says + "\n")
}

// importable: the Services are those of the snapshot, and no younger walk has begun.
func (a *app) importable(ctx context.Context, c client.Reader, rec *v1alpha1.MigrationRecord, snap *migration.Snapshot, partial bool) error {
	if younger, err := youngerRecord(ctx, c, rec); err != nil || younger != "" {
		return errors.Join(err, refuseYounger(rec.Name, younger))
	}
	same, lost, err := stillThere(ctx, c, snap)
	if err != nil {
		return err
	}
	for _, text := range lost {
		a.say("%s", oneLine(text))
	}
	switch {
	case same == 0:
		return errors.New("no Service of the snapshot is the same object any more, so there is no way back to import: apply the snapshot's manifests by hand")
	case len(lost) > 0 && !partial:
		return errors.New("some Services of the snapshot are not the same any more: add --partial to import the way back of the others")
	}
	return nil
}

func refuseYounger(name, younger string) error {
	if younger == "" {
		return nil
	}
	return fmt.Errorf("MigrationRecord %s is of a younger walk than %s: an older one is never walked again", younger, name)
}

// youngerRecord names a record of the same entry point with a higher number, or "".
func youngerRecord(ctx context.Context, c client.Reader, rec *v1alpha1.MigrationRecord) (string, error) {
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(name, rec.Spec.EntryPoint+"-"))
		if err != nil {
			return 0
		}
		return n
	}
	found := ""
	err := each(ctx, c, &v1alpha1.MigrationRecordList{}, func(o client.Object) {
		r, ok := o.(*v1alpha1.MigrationRecord)
		if ok && r.Spec.EntryPoint == rec.Spec.EntryPoint && number(r.Name) > number(rec.Name) {
			found = r.Name
		}
	})
	if err != nil {
		return "", fmt.Errorf("listing MigrationRecords: %w", err)
	}
	return found, nil
}

// bringBack creates the record, or leads the one that is there on; it writes nothing where that knows all of it.
func bringBack(ctx context.Context, c client.Client, rec *v1alpha1.MigrationRecord, dryRun bool) (string, error) {
	var live v1alpha1.MigrationRecord
	err := c.Get(ctx, client.ObjectKeyFromObject(rec), &live)
	if apierrors.IsNotFound(err) {
		options := []client.CreateOption{client.FieldOwner("kubectl-offramp")}
		if dryRun {
			options = append(options, client.DryRunAll)
		}
		return fmt.Sprintf("is back, with %d lines of journal; kubectl offramp get shows where the walk stands", len(rec.Spec.Journal)),
			importError(rec, c.Create(ctx, rec, options...))
	}
	if err != nil {
		return "", fmt.Errorf("reading MigrationRecord %s: %w", rec.Name, err)
	}
	next, more, err := migration.MergeRecord(&live, rec)
	if err != nil || !more {
		return fmt.Sprintf("is there and knows all of it (%d lines of journal)", len(live.Spec.Journal)), err
	}
	options := []client.UpdateOption{client.FieldOwner("kubectl-offramp")}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	return fmt.Sprintf("goes on from line %d to line %d of its journal", len(live.Spec.Journal), len(next.Spec.Journal)), importError(rec, c.Update(ctx, next, options...))
}

func importError(rec *v1alpha1.MigrationRecord, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("importing MigrationRecord %s: %w", rec.Name, err)
}
