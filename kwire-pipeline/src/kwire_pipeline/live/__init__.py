"""Parts of a pipeline that runs for long: streams, builds of gold at an interval, and pauses after failures."""
