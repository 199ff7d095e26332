"""The bundled git server: nine tools over one repository, alone on stdio or in process."""
