-- experiment/experiment_signature: the signatures of the placed runs, under the arms of the experiment.
-- Parameters: none. Reads the temp tables whole_signature and placed_run. Columns: as the temp table signature.
select s.* replace (p.arm as arm) from whole_signature s join placed_run p using (run_key)
