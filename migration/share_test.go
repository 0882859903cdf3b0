package migration

import "testing"

func TestTheShareIsWhatTheStepAsksForAndWhatIsSeen(t *testing.T) {
	t.Parallel()
	counted := func(before, after int64) func(*Facts) {
		return func(f *Facts) { f.OldUse.Established, f.NewUse.Established = See(before), See(after) }
	}
	for name, tt := range map[string]struct {
		facts          Facts
		nominal, error int32
		measured       Seen[int32]
	}{
		"nothing is asked before the first share": {scene("R I0 S0", 0, counted(9, 0)), 0, 0, See(int32(0))},
		"a quarter, whatever slot there is":       {scene("R I0 S0 I1", 0, counted(3, 1)), 25, 3, See(int32(25))},
		"half needs no slots and has no error":    {scene("R I0 S0 I2", 2, counted(1, 1)), 50, 0, See(int32(50))},
		"all":                                     {scene("R I0 S0 I3", 3, counted(1, 3)), 100, 0, See(int32(75))},
		"all, at the original TTL":                {scene("R I0 S0 I3 S3 L I4", 4, counted(0, 3)), 100, 0, See(int32(100))},
		"back is nothing":                         {scene("R I0 S0 I3 S3 I0", 0, counted(1, 1)), 0, 0, See(int32(50))},
		"nobody connected is no measurement":      {scene("R I0 S0 I2", 2, counted(0, 0)), 50, 0, Unseen[int32]("no connection is open")},
		"others on the new address are not ours to count": {
			scene("R I0 S0 I2", 2, counted(1, 1), shared), 50, 0,
			Unseen[int32]("the new path also serves EntryPoint shop-api-1 on TCP/80 of 192.0.2.9"),
		},
		"a side that cannot be counted is not counted": {scene("R I0 S0 I2", 2, counted(1, 1), func(f *Facts) { f.OldUse.Established = Unseen[int64]("no agent") }), 50, 0, Unseen[int32]("the old path: no agent")},
	} {
		got := ShareOf(tt.facts)
		if got.Nominal != tt.nominal || got.Error != tt.error || got.Measured != tt.measured {
			t.Errorf("%s: got %+v, want %d +- %d, measured %+v", name, got, tt.nominal, tt.error, tt.measured)
		}
	}
}
