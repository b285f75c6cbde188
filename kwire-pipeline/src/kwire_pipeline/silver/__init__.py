"""Tables of silver, and the computation of their rows from rows of bronze, without Spark."""
