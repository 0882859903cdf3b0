package cli

import "github.com/spf13/cobra"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print("kubectl-offramp " + a.Version + "\n")
		},
	}
}
