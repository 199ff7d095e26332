"""Documents of Jira Cloud (Atlassian Document Format, ADF), made from and shown as Markdown."""
