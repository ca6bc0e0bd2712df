"""Where work runs: in processes of this machine."""
