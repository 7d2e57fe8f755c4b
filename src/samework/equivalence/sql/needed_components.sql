-- equivalence/needed_components: per task, which components can decide a verdict that no stronger one decides already.
-- Reads the temp table signature. Columns: task text, one boolean per component.
-- A weaker form is not needed where every run that has it has one comparable stronger form too; `ran` only where some
-- report that places a run ran nothing; `cnt` only where some counts differ that no message of one recorder tells apart.
with counted as (
    select task, cnt_c,
           count(distinct ref_c) = 1 and count(ref_c) = count(*)
               and count(distinct ref) = count(distinct {'ref': ref, 'cnt': cnt}) as told_by_ref
    from signature
    where cnt_c is not null
    group by task, cnt_c
),
telling as (
    select task, not bool_and(told_by_ref) as cnt_tells from counted group by task
),
facts as (
    select task,
           count(distinct tok_c) filter (tok_c is not null) = 1 as one_tok,
           count(distinct oid_c) filter (oid_c is not null) = 1 as one_oid,
           count(distinct pat_c) filter (pat_c is not null) = 1 as one_pat,
           bool_or(tok_c is not null) as tok,
           bool_or(comp_c is not null) as comp, bool_and(comp_c is null or tok_c is not null) as comp_covered,
           bool_or(ref_c is not null) as ref, bool_and(ref_c is null or tok_c is not null) as ref_covered,
           coalesce(any_value(cnt_tells), false) as cnt, bool_and(cnt_c is null or tok_c is not null) as cnt_covered,
           bool_or(oid_c is not null) as oid,
           bool_or(tcd_c is not null) as tcd, bool_and(tcd_c is null or oid_c is not null) as tcd_covered,
           bool_or(oida_c is not null) as oida, bool_and(oida_c is null or oid_c is not null) as oida_covered,
           bool_or(pat_c is not null) as pat, bool_and(pat_c is null or oid_c is not null) as pat_covered,
           bool_or(pata_c is not null) as pata, bool_and(pata_c is null or oid_c is not null) as pata_covered,
           bool_and(pata_c is null or pat_c is not null) as pata_by_pat,
           bool_or(tst_c is not null) as tst, bool_or(tsta_c is not null) as tsta,
           bool_or((tst_c is not null or tsta_c is not null) and ran_c is null) as ran
    from signature
    left join telling using (task)
    group by task
)
select task, tok,
       comp and not (comp_covered and coalesce(one_tok, false)) as comp,
       ref and not (ref_covered and coalesce(one_tok, false)) as ref,
       cnt and not (cnt_covered and coalesce(one_tok, false)) as cnt,
       oid,
       tcd and not (tcd_covered and coalesce(one_oid, false)) as tcd,
       pat and not (pat_covered and coalesce(one_oid, false)) as pat,
       oida and not (oida_covered and coalesce(one_oid, false)) as oida,
       pata and not (pata_covered and coalesce(one_oid, false)) and not (pata_by_pat and coalesce(one_pat, false)) as pata,
       tst, tsta, ran
from facts
