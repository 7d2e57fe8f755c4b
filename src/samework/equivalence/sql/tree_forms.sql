-- equivalence/tree_forms: per run, every form in which its tree can be compared.
-- Parameters: $task text or NULL (all tasks). Columns: run_key bigint, oid_c text, oid text, tcd_c text, tcd blob,
--   pat_c text, pat text, pata_c text, pata text, tree_reason text, patch_reason text, tree_flags text.
-- Forms are comparable where `*_c` is equal and not NULL. Blob ids are cut to the shortest length in the task (at least 7).
with runs as (
    select run_key, task, layout, base_commit as run_base from run where $task is null or task = $task
),
trees as (
    select t.run_key,
           t.oid, t.object_format, t.tcd, t.policy, t.null_reason, t.flags, t.base_commit,
           case when t.policy = 'worktree' then 'worktree' else 'committed' end || '|' || t.scope as how
    from run_tree t semi join runs using (run_key)
),
patches as (
    select p.run_key, r.task, r.layout, p.status, p.reason, p.min_id_digits,
           coalesce(p.base_commit, r.run_base, t.base_commit) as base,
           t.policy = 'patch' and t.oid is null as failed, t.null_reason
    from patch p
    join runs r using (run_key)
    left join trees t using (run_key)
),
usable as (
    select *, status = 'empty' or (status = 'parsed' and coalesce(min_id_digits, 40) >= 7) as stands
    from patches
    where not coalesce(failed, false)
),
digits as (
    select task, coalesce(min(min_id_digits), 40) as n,
           count(distinct base) = 1 as one_base
    from usable
    where stands
    group by task
),
sets as (
    select u.run_key, d.n, d.one_base, u.base, u.layout, u.task,
           coalesce(
               string_agg(
                   octet_length(encode(pp.path)) || ':' || pp.path || ':' || coalesce(pp.mode, '-') || ':'
                   || coalesce(left(pp.blob_id, d.n), '-'),
                   chr(10) order by pp.path
               ),
               ''
           ) as images
    from usable u
    join digits d using (task)
    left join patch_path pp using (run_key)
    where u.stands
    group by all
)
select r.run_key,
       case when t.oid is not null then t.object_format || '|' || t.how end as oid_c,
       t.oid,
       case when t.tcd is not null then t.how end as tcd_c,
       t.tcd,
       case when s.run_key is not null and s.base is not null then s.base || '|' || s.n end as pat_c,
       sha256(s.images) as pat,
       case when s.run_key is not null and s.layout <> '' and (s.base is null or s.one_base)
            then s.layout || '|' || s.n end as pata_c,
       sha256(s.images) as pata,
       t.null_reason as tree_reason,
       case when p.run_key is null then 'patch_unrecorded'
            when s.run_key is null then coalesce(p.reason, p.null_reason, 'patch_' || p.status) end as patch_reason,
       t.flags as tree_flags
from runs r
left join trees t using (run_key)
left join patches p using (run_key)
left join sets s using (run_key)
