-- migrations/0002_token_rank: the two likeliest tokens at each place, in a table of its own: no row that was written before
-- changes, so the ledger of an older store still adds up.
-- Parameters: none. Never edited once released; a change of `tables.py` comes with the next number.

CREATE TABLE "token_rank" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "ids" BLOB USING COMPRESSION uncompressed,
    "texts" VARCHAR
);
COMMENT ON TABLE "token_rank" IS 'The two most likely tokens at each place of a completion, where the source ranks them.';
COMMENT ON COLUMN "token_rank"."run_key" IS 'Run.';
COMMENT ON COLUMN "token_rank"."seq" IS 'seq of the completion.';
COMMENT ON COLUMN "token_rank"."ids" IS 'Pairs of ids, likeliest first, int32 little-endian, -1: unrecorded; NULL: none.';
COMMENT ON COLUMN "token_rank"."texts" IS 'JSON: per token of the prose its text and the two likeliest texts, or null; NULL: none.';
