"""SQLAlchemy's engine for asyncio, without the object mapper, which the package imports along.

The mapper takes 8 MB of every worker and a tenth of each start, and nothing here maps objects. So
the engine's module is imported while its package is known and not run. Whoever imports the package
later gets it whole, with these very classes.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import Final

_PACKAGE: Final = "sqlalchemy.ext.asyncio"


@contextmanager
def _package_not_run() -> Generator[None]:
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        yield
        return
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[_PACKAGE]


with _package_not_run():
    from sqlalchemy.ext.asyncio.engine import AsyncConnection, AsyncEngine, create_async_engine

__all__ = ["AsyncConnection", "AsyncEngine", "create_async_engine"]
