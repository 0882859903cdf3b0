package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

type extendFlags struct {
	lasting time.Duration
	reason  string
}

func (a *app) extendCommand() *cobra.Command {
	var (
		f     extendFlags
		steer steerFlags
	)
	command := &cobra.Command{
		Use:   "extend NAME --for DURATION --reason TEXT",
		Short: "Keep the snapshot, and with it the way back, for longer",
		Long: `Keep the snapshot, and with it the way back, for longer: for DURATION from now on, or from the end of the retention where
that is still to come. It only moves forward, never past the policy's retention.maxSeconds, and is signed with your own user
name. It takes the verb extend on entrypoints.offramp.dev. The end of a retention deletes nothing.`,
		Example:           "  kubectl offramp extend shop-web-1a2b3c4d --for 720h --reason 'audit in March'",
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runExtend(c.Context(), args[0], f, steer) },
	}
	command.Flags().DurationVar(&f.lasting, "for", 0, "how much longer, for example 720h")
	command.Flags().StringVar(&f.reason, "reason", "", "why, for the next reader")
	_ = command.MarkFlagRequired("for")
	_ = command.MarkFlagRequired("reason")
	command.Flags().BoolVar(&steer.dryRun, "dry-run", false, "only say what would be written and what that leads to")
	outputFlag(command, &steer.format, "text", "name", "json", "yaml")
	return command
}

func (a *app) runExtend(ctx context.Context, name string, f extendFlags, steer steerFlags) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	me, err := whoAmI(ctx, conn.Client)
	if err != nil {
		return err
	}
	e, err := find(ctx, conn.Client, name)
	if err != nil {
		return err
	}
	bound, err := mostRetention(ctx, conn.Client, e)
	if err != nil {
		return err
	}
	return a.steer(ctx, name, steer, func(e *v1alpha1.EntryPoint) (steering, error) { return extend(e, f, me, a.clock(), bound) })
}

// clock is the wall clock where the program wired none.
func (a *app) clock() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// extend decides what to write.
func extend(e *v1alpha1.EntryPoint, f extendFlags, me string, now, bound time.Time) (steering, error) {
	switch {
	case f.lasting <= 0:
		return steering{}, fmt.Errorf("--for %s is no time to come", f.lasting)
	case strings.TrimSpace(f.reason) == "":
		return steering{}, errors.New("--reason is empty: say for the next reader why the way back is kept")
	case e.Status.Snapshot == nil:
		return steering{}, fmt.Errorf("%s holds no snapshot: before gate Recorded there is none to keep, after Forgotten none is left", e.Name)
	}
	until := latest(now, e).Add(f.lasting).UTC().Truncate(time.Second)
	if until.After(bound) {
		return steering{}, fmt.Errorf("policy %s lets the way back of %s be kept until %s at most (retention.maxSeconds), not until %s",
			e.Spec.Policy, e.Name, bound.UTC().Format(time.RFC3339), until.Format(time.RFC3339))
	}
	wish := v1alpha1.Retention{Until: metav1.NewTime(until), Requester: me, Reason: f.reason}
	return steering{
		[]patchOp{set("retention", wish)},
		fmt.Sprintf("the snapshot is kept until %s, signed by %s", until.Format(time.RFC3339), me),
	}, nil
}

// latest is the time from which a retention is extended.
func latest(now time.Time, e *v1alpha1.EntryPoint) time.Time {
	at := now
	if s := e.Status.Snapshot; s != nil && s.RetainUntil != nil && s.RetainUntil.After(at) {
		at = s.RetainUntil.Time
	}
	if r := e.Spec.Retention; r != nil && r.Until.After(at) {
		at = r.Until.Time
	}
	return at
}

// mostRetention is what the policy allows, counted as the controller counts it: from release, before it from the snapshot.
func mostRetention(ctx context.Context, c client.Reader, e *v1alpha1.EntryPoint) (time.Time, error) {
	var policy v1alpha1.MigrationPolicy
	if err := c.Get(ctx, client.ObjectKey{Name: e.Spec.Policy}, &policy); client.IgnoreNotFound(err) != nil {
		return time.Time{}, fmt.Errorf("reading MigrationPolicy %s, which bounds the retention: %w", e.Spec.Policy, err)
	}
	if e.Status.Record == "" || e.Status.Snapshot == nil {
		return time.Time{}, nil
	}
	var rec v1alpha1.MigrationRecord
	if err := c.Get(ctx, client.ObjectKey{Name: e.Status.Record}, &rec); err != nil {
		return time.Time{}, fmt.Errorf("reading MigrationRecord %s, from which the retention is counted: %w", e.Status.Record, err)
	}
	from := e.Status.Snapshot.TakenAt.Time
	for _, s := range rec.Spec.Journal {
		if s.Kind == v1alpha1.StampReleased {
			from = s.At.Time
		}
	}
	return migration.MaxRetention(policy.Spec.Retention, from), nil
}

// whoAmI asks the API server, for a retention is signed with the name that it knows.
func whoAmI(ctx context.Context, c client.Client) (string, error) {
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview"})
	if err := c.Create(ctx, review); err != nil {
		if apierrors.IsForbidden(err) {
			return "", fmt.Errorf("asking who you are: %w (the right is in the built-in ClusterRole system:basic-user)", err)
		}
		return "", fmt.Errorf("asking who you are: %w", err)
	}
	name, found, err := unstructured.NestedString(review.Object, "status", "userInfo", "username")
	if err != nil || !found || name == "" {
		return "", errors.New("the API server does not say who you are, and a retention must be signed")
	}
	return name, nil
}
