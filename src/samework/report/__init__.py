"""One ReportData, shown as HTML, Markdown or JSON."""
