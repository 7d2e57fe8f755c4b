-- api/scan_texts: every text of the store once, by the sha256 of its bytes.
-- Parameters: none. Columns: sha256 blob, text text.
-- Linear in the bytes of the store; a text that many events share is looked at once.
select sha256, text
from body
