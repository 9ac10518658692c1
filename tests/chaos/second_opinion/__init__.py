"""A second opinion: the promise of the verdict table as an executable model, beside the judge."""
