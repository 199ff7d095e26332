"""The tools of the `data` server in words, for lists that people read (S2.14).

Which of them a caller has is decided in `policy/toolsets.py` alone.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "health": "State and version of the server, and whether its datasource answers.",
        "echo": "Gives back the message it was sent, to try a connection.",
        "execute": (
            "Runs any SQL statement, also one that changes data or schema; at most 30 seconds."
        ),
        "validate": "Says whether a statement is valid SQL, without running it.",
        "query": "Runs a reading statement and returns its rows, up to 1000.",
        "explain_query": "Shows how the database would run a statement, with hints.",
        "list_approved_queries": (
            "Lists the approved queries with their parameters and result columns."
        ),
        "execute_approved_query": "Runs an approved query with the parameters given.",
        "suggest_approved_query": "Proposes a new query for review, after a trial run.",
        "suggest_query_update": (
            "Proposes a change of an approved query; it stays as it is until approved."
        ),
        "list_query_suggestions": "Lists proposed queries and changes that wait for a decision.",
        "approve_query_suggestion": "Accepts a proposed query or change.",
        "reject_query_suggestion": "Turns a proposed query or change down, with a reason.",
        "create_approved_query": "Adds a query that is approved at once.",
        "update_approved_query": "Changes an approved query directly.",
        "delete_approved_query": (
            "Removes an approved query, and turns down what is proposed for it."
        ),
        "search_schema": "Finds tables, columns and entities by a word, best first.",
        "get_schema": "Shows tables and columns, with what they mean.",
        "get_context": "Shows schema, ontology and glossary together, as deep as asked.",
        "get_entity": "Shows an entity with its aliases, key columns and relationships.",
        "get_glossary_sql": "Gives the SQL behind a business term.",
        "get_ontology": "Shows the ontology, as deep as asked.",
        "get_query_history": "Lists the statements that ran of late, with their time and rows.",
        "list_glossary": "Lists business terms with their definitions and aliases.",
        "probe_column": "Measures a column, such as distinct values, nulls and lengths.",
        "probe_columns": "Measures several columns at once.",
        "probe_relationship": "Measures how the rows of two entities match.",
        "sample": "Shows some rows of a table.",
        "list_ontology_questions": "Lists open questions about the ontology.",
        "dismiss_ontology_question": "Closes a question that is not worth an answer.",
        "escalate_ontology_question": "Hands a question to a person.",
        "resolve_ontology_question": "Closes a question that was answered.",
        "skip_ontology_question": "Puts a question off.",
        "update_column": "Says what a column means.",
        "update_entity": "Adds or changes an entity.",
        "update_glossary_term": "Adds or changes a business term.",
        "update_project_knowledge": "Adds or changes a fact about the project.",
        "update_relationship": "Adds or changes a relationship of two entities.",
        "delete_column_metadata": "Forgets what was said of a column.",
        "delete_entity": "Removes an entity that has no relationships.",
        "delete_glossary_term": "Removes a business term.",
        "delete_project_knowledge": "Removes a fact about the project.",
        "delete_relationship": "Removes a relationship of two entities.",
        "refresh_schema": "Reads the schema anew and proposes what changed.",
        "scan_data_changes": "Looks for new values and likely foreign keys in the data.",
        "list_pending_changes": "Lists changes of the ontology that wait for a decision.",
        "approve_change": "Accepts a change of the ontology.",
        "reject_change": "Turns a change of the ontology down.",
        "approve_all_changes": "Accepts every change that may be accepted, and lists the rest.",
    }
)
"""Tool to what it does, in a line; in the canonical order (S2.9)."""
