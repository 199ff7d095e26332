"""The Jira server: eight tools over tickets, for Jira Cloud and Jira Data Center."""
