"""Texts that both databases accept.

PostgreSQL refuses NUL in text, and in jsonb also the escapes of NUL and of lone surrogates; a lone
surrogate has no UTF-8 at all. Agents send both. Such a character is stored as the six characters
of its escape, which people can read and both databases keep.
"""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_JSON_ESCAPE = re.compile(
    r"""(?x)
      \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}     # a pair: one character
    | (?P<bad> \\u0000 | \\u[dD][89a-fA-F][0-9a-fA-F]{2} )
    | \\.                                                            # any other escape
    """
)


def storable(text: str) -> str:
    r"""Return *text* with NUL and lone surrogates spelled out, as in `\u0000`."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def storable_json(text: str) -> str:
    r"""Return JSON *text* in which no string means NUL or a lone surrogate.

    Valid JSON stays valid: `"\u0000"` becomes `"\\u0000"`. What is not JSON is kept as it is, but
    for such characters.
    """
    if not text.isascii() or "\0" in text:
        text = _UNSTORABLE.sub(lambda match: f"\\\\u{ord(match[0]):04x}", text)
    if "\\u" not in text:
        return text
    return _JSON_ESCAPE.sub(lambda match: ("\\" if match["bad"] else "") + match[0], text)
