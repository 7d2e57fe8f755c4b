-- equivalence/hidden_reasoning_pairs: pairs whose text differs only by reasoning that one shows and the other keeps back.
-- Parameters: none. Reads the temp table trajectory_form. Columns: a bigint, b bigint (a < b).
-- Runs that keep reasoning back in the same completions are compared by the rest.
select a.run_key as a, b.run_key as b
from trajectory_form a
join trajectory_form b on b.task = a.task and b.prose = a.prose
where a.run_key < b.run_key and a.text <> b.text and a.prose_c <> b.prose_c
