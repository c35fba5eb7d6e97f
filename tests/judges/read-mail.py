"""Reads mails with Python's email package. In: a JSON array of Base64 texts. Out: for each, what it holds and every defect it was found to have."""

import base64
import json
import sys
from email import message_from_bytes, message_from_string, policy
from email.errors import NonASCIILocalPartDefect
from email.header import decode_header, make_header
from email.utils import getaddresses


def parse(raw):
    header = raw.split(b"\r\n\r\n", 1)[0]
    if header.isascii():
        return message_from_bytes(raw, policy=policy.default)
    # RFC 6532: a header in UTF-8, which the package takes as text only.
    return message_from_string(raw.decode(), policy=policy.SMTPUTF8)


def addresses(raw, message, name):
    # Encoded words that stand side by side make one name (RFC 2047 section 6.2); `display_name` puts a space between them in every
    # release so far (python/cpython#128110), so that names are decoded by the older half of the package.
    field = message_from_string(raw.decode(), policy=policy.compat32)[name]
    names = [str(make_header(decode_header(shown))) for shown, _ in getaddresses([field])]
    return [[shown, one.addr_spec] for shown, one in zip(names, message[name].addresses, strict=True)]


def read(raw):
    message = parse(raw)
    defects = []
    parts = []
    for part in message.walk():
        defects += part.defects
        for value in part.values():
            defects += value.defects
        if not part.is_multipart():
            parts.append({"type": part.get_content_type(), "content": part.get_content()})
    return {
        "names": message.keys(),
        "subject": message["subject"],
        "from": addresses(raw, message, "from"),
        "to": addresses(raw, message, "to"),
        "type": message.get_content_type(),
        "parts": parts,
        # RFC 6532 allows what was none before it.
        "defects": [repr(defect) for defect in defects if not isinstance(defect, NonASCIILocalPartDefect)],
    }


json.dump([read(base64.b64decode(text)) for text in json.load(sys.stdin)], sys.stdout)
