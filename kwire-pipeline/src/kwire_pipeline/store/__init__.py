"""Tables, and commits that change several of them at once. Without Spark, and in executors without deltalake."""
