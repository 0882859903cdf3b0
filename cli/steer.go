package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

// patchOp is one operation of a JSON Patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// steering is a change of one EntryPoint's spec, and what it will lead to.
type steering struct {
	ops []patchOp
	// says what happens then, for a human; empty ops: what is true already.
	says string
}

// set writes one field of the spec.
func set(field string, value any) patchOp { return patchOp{"add", "/spec/" + field, value} }

// steerFlags are common to all commands that change a spec.
type steerFlags struct {
	dryRun bool
	format string
}

// steerCommand makes a command that changes one EntryPoint's spec; everything else is the controller's work.
func (a *app) steerCommand(command *cobra.Command, change func(*v1alpha1.EntryPoint) (steering, error)) *cobra.Command {
	var f steerFlags
	command.Args = oneName
	command.ValidArgsFunction = a.completeEntryPoints
	command.RunE = func(c *cobra.Command, args []string) error { return a.steer(c.Context(), args[0], f, change) }
	command.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be written and what that leads to")
	outputFlag(command, &f.format, "text", "name", "json", "yaml")
	return command
}

// steer reads, decides and patches once. The patch tests the resourceVersion: what was decided on is what is changed.
func (a *app) steer(ctx context.Context, name string, f steerFlags, change func(*v1alpha1.EntryPoint) (steering, error)) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	e, err := find(ctx, conn.Client, name)
	if err != nil {
		return err
	}
	return a.steerOne(ctx, conn.Client, e, f, change)
}

func (a *app) steerOne(
	ctx context.Context, c client.Writer, e *v1alpha1.EntryPoint, f steerFlags, change func(*v1alpha1.EntryPoint) (steering, error),
) error {
	s, err := change(e)
	if err != nil {
		return err
	}
	if len(s.ops) > 0 {
		if err := patch(ctx, c, e, s.ops, f.dryRun); err != nil {
			return err
		}
	}
	return a.printSteering(e, s, f)
}

func patch(ctx context.Context, c client.Writer, e *v1alpha1.EntryPoint, ops []patchOp, dryRun bool) error {
	guarded := append([]patchOp{{"test", "/metadata/resourceVersion", e.ResourceVersion}}, ops...)
	text, err := json.Marshal(guarded)
	if err != nil {
		return fmt.Errorf("writing the patch: %w", err)
	}
	options := []client.PatchOption{client.FieldOwner("kubectl-offramp")}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	if err := c.Patch(ctx, e, client.RawPatch(types.JSONPatchType, text), options...); err != nil {
		return fmt.Errorf("changing the spec of EntryPoint %s: %w (if somebody changed it meanwhile, look again and repeat)", e.Name, err)
	}
	return nil
}

func (a *app) printSteering(e *v1alpha1.EntryPoint, s steering, f steerFlags) error {
	if f.format == "json" || f.format == "yaml" {
		a.say("%s", s.says)
		return a.encode(f.format, typed([]v1alpha1.EntryPoint{*e}, true))
	}
	if f.format == "name" {
		return a.print("entrypoint.offramp.dev/" + e.Name + "\n")
	}
	prefix := e.Name + ": "
	if f.dryRun {
		prefix += "(dry run) "
	}
	return a.print(prefix + oneLine(s.says) + "\n")
}

func (a *app) pauseCommand() *cobra.Command {
	return a.steerCommand(&cobra.Command{
		Use: "pause NAME", Short: "Stop the walk where it is; an abort of a failing path is not stopped",
	}, func(e *v1alpha1.EntryPoint) (steering, error) {
		if e.Spec.Paused {
			return steering{says: "is paused already"}, nil
		}
		return steering{
			[]patchOp{set("paused", true)},
			"paused; no step is taken until you resume, except back to the old path if the new one fails",
		}, nil
	})
}

func (a *app) resumeCommand() *cobra.Command {
	return a.steerCommand(&cobra.Command{
		Use: "resume NAME", Short: "Let a paused walk go on",
	}, func(e *v1alpha1.EntryPoint) (steering, error) {
		if !e.Spec.Paused {
			return steering{says: "is not paused"}, nil
		}
		return steering{[]patchOp{set("paused", false)}, fmt.Sprintf("goes on, direction %s, up to goal %s", e.Spec.Direction, e.Spec.Goal)}, nil
	})
}

func rollback(e *v1alpha1.EntryPoint) (steering, error) {
	if e.Spec.Direction == v1alpha1.DirectionBack {
		return steering{says: "walks back already"}, nil
	}
	if e.Spec.Goal == v1alpha1.GoalForget && isMet(e, "Forgotten") {
		return steering{}, fmt.Errorf("%s is forgotten: the snapshot is gone, and there is no way back", e.Name)
	}
	ops := []patchOp{set("direction", v1alpha1.DirectionBack)}
	says := "walks back: the field as it was first, then the names, then the TTLs; the new path goes when nobody needs it any more"
	if e.Spec.Paused {
		ops, says = append(ops, set("paused", false)), says+"; it is no longer paused"
	}
	return steering{ops, says}, nil
}

func (a *app) retryCommand() *cobra.Command {
	return a.steerCommand(&cobra.Command{
		Use:   "retry NAME",
		Short: "Begin a further attempt, forward, after an abort, a reverted edit or a walk back",
	}, retry)
}

func retry(e *v1alpha1.EntryPoint) (steering, error) {
	next := max(e.Spec.Attempt, e.Status.Attempt) + 1
	return steering{
		[]patchOp{set("attempt", next), set("direction", v1alpha1.DirectionForward)},
		fmt.Sprintf("attempt %d, forward, up to goal %s; if the plan has changed it must be approved again", next, e.Spec.Goal),
	}, nil
}
