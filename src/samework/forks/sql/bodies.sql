-- forks/bodies: the head of given texts.
-- Parameters: $keys list of blob, $n_characters integer. Columns: sha256 blob, text text.
select b.sha256, left(b.text, $n_characters) as text
from body b
semi join (select unnest($keys::blob[]) as sha256) k using (sha256)
