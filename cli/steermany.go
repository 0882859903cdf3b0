package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// manyFlags choose several entry points.
type manyFlags struct {
	steerFlags

	selector string
	batch    int
}

func (a *app) rollbackCommand() *cobra.Command {
	var f manyFlags
	command := &cobra.Command{
		Use:   "rollback {NAME... | -l SELECTOR}",
		Short: "Walk back: field, names and TTLs as in the snapshot, then the new path is taken away",
		Long: `Walk back: the field as it was first, then the names, then the TTLs; the new path goes when nobody needs it any more.
NAME is an EntryPoint, or namespace/service of a member; -l selects EntryPoints by their labels. With --batch the next ones
begin when those before them are undone; one that stalls stops the rest.

Exit codes: 0 done, or all that --batch waited for is undone; 2 one stalled, and those behind it were not begun; 1 error.`,
		Example: `  kubectl offramp rollback shop-web-1a2b3c4d
  kubectl offramp rollback -l wave=3 --batch 5`,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runRollback(c.Context(), args, f) },
	}
	command.Flags().StringVarP(&f.selector, "selector", "l", "", "labels of the EntryPoints")
	command.Flags().IntVar(&f.batch, "batch", 0, "how many walk back at a time; 0 is all at once, without waiting")
	command.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be written and what that leads to")
	outputFlag(command, &f.format, "text", "name", "json", "yaml")
	return command
}

func (a *app) runRollback(ctx context.Context, names []string, f manyFlags) error {
	if f.batch < 0 {
		return fmt.Errorf("--batch %d: give how many walk back at a time, or 0 for all at once", f.batch)
	}
	if (len(names) == 0) == (f.selector == "") {
		return errors.New("name the entry points, or select them with -l: one of them")
	}
	conn, err := a.open()
	if err != nil {
		return err
	}
	list, err := chosenForBack(ctx, conn.Client, names, f.selector)
	if err != nil {
		return err
	}
	size := f.batch
	if size == 0 {
		size = len(list)
	}
	for batch := range slices.Chunk(list, max(1, size)) {
		if err := a.backBatch(ctx, conn.Client, batch, f); err != nil {
			return err
		}
	}
	return nil
}

// chosenForBack finds all of them before the first is changed. None at all is an error: a typing mistake must not look done.
func chosenForBack(ctx context.Context, c client.Reader, names []string, selector string) ([]v1alpha1.EntryPoint, error) {
	if selector == "" {
		list, err := chosenEntryPoints(ctx, c, names, "")
		slices.SortStableFunc(list, func(x, y v1alpha1.EntryPoint) int { return strings.Compare(x.Name, y.Name) })
		return slices.CompactFunc(list, func(x, y v1alpha1.EntryPoint) bool { return x.Name == y.Name }), err
	}
	s, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("-l %q: %w", selector, err)
	}
	all, err := entryPoints(ctx, c)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(e v1alpha1.EntryPoint) bool { return !s.Matches(labels.Set(e.Labels)) })
	if len(list) == 0 {
		return nil, fmt.Errorf("-l %q selects no EntryPoint; kubectl get entrypoints --show-labels lists them", selector)
	}
	return list, nil
}

// backBatch turns each back; one that cannot be turned is told and keeps none of the others, for they do not depend on it.
func (a *app) backBatch(ctx context.Context, c client.Client, batch []v1alpha1.EntryPoint, f manyFlags) error {
	var errs error
	for i := range batch {
		errs = errors.Join(errs, a.steerOne(ctx, c, &batch[i], f.steerFlags, rollback))
	}
	if errs != nil || f.batch == 0 || f.dryRun {
		return errs
	}
	for i := range batch {
		if err := a.awaitUndone(ctx, c, batch[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// awaitEvery is how often a batch is looked at.
const awaitEvery = 2 * time.Second

func (a *app) awaitUndone(ctx context.Context, c client.Reader, name string) error {
	for {
		e, err := find(ctx, c, name)
		if err != nil {
			return err
		}
		switch {
		case undone(e):
			a.say("%s: undone", name)
			return nil
		case current(e) && meta.IsStatusConditionTrue(e.Status.Conditions, conditionStalled):
			a.say("%s: stalled, %s; kubectl offramp why %s", name, actor(e), name)
			return errFindings
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", name, ctx.Err())
		case <-time.After(awaitEvery):
		}
	}
}

// undone: the walk has ended there, or there was nothing to undo.
func undone(e *v1alpha1.EntryPoint) bool {
	if !current(e) || !isMet(e, conditionReady) {
		return false
	}
	c := meta.FindStatusCondition(e.Status.Conditions, conditionReady)
	return isMet(e, string(migration.GateUndone)) && (c.Reason == migration.ReasonUndone || c.Reason == migration.ReasonNothingToUndo)
}
