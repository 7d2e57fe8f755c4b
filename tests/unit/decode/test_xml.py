"""XML of reports: no DTD, no entity, no bomb; a bad file is a named error."""

from __future__ import annotations

import pytest

from samework.decode.limits import Limits
from samework.decode.xml import parse_xml
from samework.errors import DamagedRecord, LimitExceeded

LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><l>&b;</l>'
OUTSIDE = b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/hostname">]><l>&x;</l>'


@pytest.mark.parametrize("document", [LAUGHS, OUTSIDE, b"<!DOCTYPE l><l/>"])
def test_a_document_with_a_dtd_is_refused(document: bytes) -> None:
    with pytest.raises(DamagedRecord, match="DTD or an entity"):
        parse_xml(document)


@pytest.mark.parametrize("document", [b"<a>\x1b</a>", b"<a>", b"", b"<a></b>", b"\xff\xfe"])
def test_a_document_that_is_not_well_formed_names_its_place(document: bytes) -> None:
    with pytest.raises(DamagedRecord, match="line 1, column"):
        parse_xml(document)


def test_depth_and_size_are_bounded() -> None:
    with pytest.raises(LimitExceeded, match="deeper than 200"):
        parse_xml(b"<a>" * 5000)
    with pytest.raises(LimitExceeded, match="more than 3 bytes"):
        parse_xml(b"<a/>", Limits(max_xml_bytes=3))


def test_a_plain_document_is_read() -> None:
    root = parse_xml(b'<?xml version="1.0" encoding="utf-8"?><suite n="1"><case>t</case></suite>')
    assert (root.get("n"), root[0].text) == ("1", "t")
