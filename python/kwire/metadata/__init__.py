"""Rules over cluster metadata: what changed between two responses, and which responses are plausible. No I/O."""
