"""One row of the table per module, or one family of rows: PROMISES, and measure(effort)."""
