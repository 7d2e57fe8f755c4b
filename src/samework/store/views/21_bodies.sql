-- views/bodies: texts by the sha256 of their bytes. Untrusted: written by models, tools and users.
-- Example: SELECT b.text FROM events AS e JOIN bodies AS b ON b.sha256 = e.body WHERE e.kind = 'user' LIMIT 3
CREATE OR REPLACE VIEW bodies AS
SELECT lower(hex(sha256)) AS sha256, text
FROM main.body
