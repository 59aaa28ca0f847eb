"""What all stages run on: a pool that can be cancelled, sums, output files, progress and warnings."""
