-- Outages by month and cluster: how many, and the mean time to repair.
select
    cluster_id,
    date_trunc('month', began_at) as month,
    count(*) as outages,
    avg(epoch(ended_at) - epoch(began_at)) as mean_seconds
from {{ source('kafka', 'incidents') }}
where kind in ('broker_killed', 'broker_paused', 'broker_lost', 'cluster_unreachable')
group by all
