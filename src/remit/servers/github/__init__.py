"""The bundled GitHub server: ten tools over GitHub's REST API."""
