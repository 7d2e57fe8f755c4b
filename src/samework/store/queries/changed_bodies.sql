-- queries/changed_bodies: texts that no longer hash to their key. A text in which lone surrogates were replaced never did.
-- Parameters: none. Columns: sha256 text.
SELECT lower(hex(sha256)) AS sha256
FROM main.body
WHERE sha256(text) <> lower(hex(sha256)) AND NOT contains(text, chr(65533))
ORDER BY ALL
LIMIT 20
