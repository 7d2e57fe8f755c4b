-- api/known_names: tasks and arms of the store, to answer an unknown one.
-- Parameters: none. Columns: kind text, name text, n_runs bigint.
select 'task' as kind, task as name, count(*) as n_runs from run group by task
union all
select 'arm', arm, count(*) from run group by arm
order by kind, name
