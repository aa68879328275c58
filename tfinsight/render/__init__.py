"""Drawing a report from its record: as text, as static HTML and as a live widget."""
