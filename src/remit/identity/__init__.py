"""From a credential to a principal."""
