-- queries/ledger_rows: what every batch says that it wrote.
-- Parameters: none. Columns: table_name text, n_rows bigint, rows_digest blob.
SELECT table_name, n_rows, rows_digest
FROM main.ingest_ledger
