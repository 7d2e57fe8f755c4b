-- equivalence/tree_forms: per run, every form in which its tree can be compared.
-- Parameters: $task text or NULL (all tasks). Columns: run_key bigint, oid_c text, oid text, tcd_c text, tcd blob,
--   oida_c text, oida text, pat_c text, pat text, pata_c text, pata text, tree_reason text, tree_grade text,
--   patch_reason text, patch_base text, patch_contested text (a path), tree_flags text.
-- Forms are comparable where `*_c` is equal and not NULL. Ids, of blobs and of bases, are cut to the shortest length in the
-- task (at least 7). An id of a tree that is only asserted is no form of a run whose patch can stand for its tree.
-- What patches of one task state of a path is contested where they name one post-image but not one file before on one
-- base, or where two of these are equal and the third is not: id before, id after, change. A run is then comparable only
-- with those that state the same of every contested path: where ids contradict content, no equality follows from ids.
with runs as (
    select run_key, task, layout, base_commit as run_base from run where $task is null or task = $task
),
trees as (
    select t.run_key,
           t.oid, t.object_format, t.tcd, t.policy, t.null_reason, t.flags, t.base_commit, t.grade,
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
    select * from patches
    where not coalesce(failed, false)
      and (status = 'empty' or (status = 'parsed' and coalesce(min_id_digits, 40) >= 7))
),
digits as (
    select task, coalesce(min(min_id_digits), 40) as n, greatest(min(length(base)), 7) as n_base
    from usable
    group by task
),
standing as (
    select u.run_key, u.task, u.layout, d.n, left(u.base, d.n_base) as base,
           coalesce(min(left(u.base, d.n_base)) over (partition by task)
                    = max(left(u.base, d.n_base)) over (partition by task), false) as one_base
    from usable u
    join digits d using (task)
),
stated as materialized (
    select s.run_key, s.task, if(s.one_base, '', coalesce(s.base, '')) as ground, p.path, p.mode,
           left(p.blob_id, s.n) as after, coalesce(left(p.blob_id, s.n), p.mode, '') as outcome,
           coalesce(left(e.before_id, s.n), '') as source, if(p.change = 'add', '', left(e.before_id, s.n)) as before,
           e.change_sha256 as edit
    from standing s
    join patch_path p using (run_key)
    left join patch_edit e using (run_key, path)
),
files as (
    select task, path, outcome, ground from stated group by all having min(before) <> max(before)
),
ids as (
    select task, path, outcome, source from stated group by all having min(edit) <> max(edit)
),
works as (
    select task, path, source, edit from stated where edit is not null group by all having min(outcome) <> max(outcome)
),
weighed as (
    select s.*, f.task is not null or i.task is not null or w.task is not null as contested
    from stated s
    left join files f using (task, path, outcome, ground)
    left join ids i using (task, path, outcome, source)
    left join works w using (task, path, source, edit)
),
sets as (
    select s.run_key, s.n, s.one_base, s.base, s.layout,
           coalesce(
               string_agg(
                   octet_length(encode(w.path)) || ':' || w.path || ':' || coalesce(w.mode, '-') || ':'
                   || coalesce(w.after, '-'),
                   chr(10) order by w.path
               ),
               ''
           ) as images,
           coalesce(
               '|' || sha256(string_agg(
                   octet_length(encode(w.path)) || ':' || w.path || ':' || coalesce(w.before, '-') || ':'
                   || coalesce(hex(w.edit), '-') || ':' || coalesce(w.after, '-'),
                   chr(10) order by w.path
               ) filter (where w.contested)),
               ''
           ) as dispute,
           min(w.path) filter (where w.contested) as contested
    from standing s
    left join weighed w using (run_key)
    group by all
)
select r.run_key,
       case when t.oid is not null and t.grade <> 'asserted' then t.object_format || '|' || t.how end as oid_c,
       t.oid,
       case when t.tcd is not null then t.how end as tcd_c,
       t.tcd,
       case when t.oid is not null and (t.grade <> 'asserted' or s.run_key is null)
            then t.object_format || '|' || t.how end as oida_c,
       t.oid as oida,
       case when s.base is not null then s.base || '|' || s.n || s.dispute end as pat_c,
       sha256(s.images) as pat,
       case when s.layout <> '' and (s.base is null or s.one_base) then s.layout || '|' || s.n || s.dispute end as pata_c,
       sha256(s.images) as pata,
       t.null_reason as tree_reason,
       t.grade as tree_grade,
       case when p.run_key is null then 'patch_unrecorded'
            when s.run_key is null then coalesce(p.reason, p.null_reason, 'patch_' || p.status) end as patch_reason,
       s.base as patch_base,
       s.contested as patch_contested,
       t.flags as tree_flags
from runs r
left join trees t using (run_key)
left join patches p using (run_key)
left join sets s using (run_key)
