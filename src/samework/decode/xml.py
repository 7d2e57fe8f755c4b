"""XML documents of test reports. Refuses every DTD and entity, and what is larger or deeper than the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from xml.etree.ElementTree import ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from samework.decode.limits import DEFAULT, Limits
from samework.errors import DamagedRecord, LimitExceeded

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(data: bytes, limits: Limits = DEFAULT) -> Element:
    """The root element of an XML document.

    Raises: DamagedRecord: not well formed (line and column are named), or it declares a DTD or an entity.
    LimitExceeded: too large or too deep.

    >>> parse_xml(b"<a><b/></a>")[0].tag
    'b'
    """
    if len(data) > limits.max_xml_bytes:
        raise LimitExceeded(f"an XML document of more than {limits.max_xml_bytes} bytes")
    parser = DefusedXMLParser(
        target=_BoundedBuilder(limits.max_depth), forbid_dtd=True, forbid_entities=True, forbid_external=True
    )
    try:
        parser.feed(data)
        return cast("Element", parser.close())
    except ParseError as error:
        line, column = error.position
        raise DamagedRecord(f"not well-formed XML at line {line}, column {column}") from error
    except DefusedXmlException as error:
        raise DamagedRecord("the XML declares a DTD or an entity, which is refused", code="xml-dtd") from error
    except (LookupError, ValueError) as error:
        raise DamagedRecord("the XML names an encoding that is unknown") from error


class _BoundedBuilder(TreeBuilder):
    """Builds elements and counts how deep they are."""

    def __init__(self, max_depth: int) -> None:
        super().__init__()
        self.max_depth = max_depth
        self.depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        if self.depth > self.max_depth:
            raise LimitExceeded(f"XML nested deeper than {self.max_depth} levels")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)
