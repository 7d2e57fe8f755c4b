-- migrations/0003_patch_edit: what a patch says of content besides its post-images, in a table of its own: no row that was
-- written before changes, so the ledger of an older store still adds up. Patches of before have no row here until a repair.
-- Parameters: none. Never edited once released; a change of `tables.py` comes with the next number.

CREATE TABLE "patch_edit" (
    "run_key" BIGINT NOT NULL,
    "path" VARCHAR NOT NULL,
    "before_id" VARCHAR,
    "change_sha256" BLOB USING COMPRESSION uncompressed
);
COMMENT ON TABLE "patch_edit" IS 'What a patch says of the content of a path besides its post-image, against which the ids are held.';
COMMENT ON COLUMN "patch_edit"."run_key" IS 'Run.';
COMMENT ON COLUMN "patch_edit"."path" IS 'Path, as in `patch_path`.';
COMMENT ON COLUMN "patch_edit"."before_id" IS 'Blob id from which the change starts, as written; NULL: new, or none stated.';
COMMENT ON COLUMN "patch_edit"."change_sha256" IS 'Digest of the changed lines and their places; NULL: not stated.';
