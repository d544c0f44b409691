"""Print the table of docs/audit.md."""

from whyflag.experiments.audit import audit, markdown

print(markdown(audit()))  # noqa: T201
