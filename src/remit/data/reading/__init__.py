"""What agents read to understand the data: schema, ontology, glossary, and a search over them."""
