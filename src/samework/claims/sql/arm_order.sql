-- claims/arm_order: when the runs of two arms started, on the tasks that both ran.
-- Parameters: $a, $b text (arms). Columns: task text, arm text, started text (as recorded; NULL: unrecorded).
with common as (
    select task from run where arm in ($a, $b) group by task having count(distinct arm) = 2
)
select r.task, r.arm, r.started from run r semi join common using (task) where r.arm in ($a, $b) order by r.task, r.run_key
