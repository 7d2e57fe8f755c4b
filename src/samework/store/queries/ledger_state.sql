-- queries/ledger_state: number of the last batch, and one digest over the ledger's rows up to a batch.
-- Parameters: $batch bigint, NULL for all. Columns: batch bigint, ledger_sha256 text.
SELECT
    coalesce(max(batch), 0) AS batch,
    coalesce(
        sha256(string_agg(
            concat_ws(' ', batch, table_name, n_rows, hex(rows_digest), written), chr(10) ORDER BY batch, table_name
        )),
        ''
    ) AS ledger_sha256
FROM main.ingest_ledger
WHERE $batch::BIGINT IS NULL OR batch <= $batch::BIGINT
