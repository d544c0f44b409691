"""Print the table of docs/audit.md."""

from whyflag_paper.audit import audit, markdown

print(markdown(audit()))  # noqa: T201
