"""The KRaft quorum: its leader, voters, and observers."""
