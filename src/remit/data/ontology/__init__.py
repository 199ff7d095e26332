"""What the data means: entities, columns, relationships, words, facts, questions."""
