-- queries/known_outcomes: graders' verdicts that are stored.
-- Parameters: none. Columns: run_key bigint, name text, value text.
SELECT run_key, name, value
FROM main.run_outcome
