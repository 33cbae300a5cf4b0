-- After a restore, before any process starts: 100,000 ids are skipped, of each table. restore.sh does it.
--
-- Hosts name machines, disks and volumes by the ids of their rows. What was created after the backup is still on the
-- hosts, and not in the database: without the gap a new instance would get the id of a lost one, and with it that one's
-- machine and disks, with what another customer has on them. Clients, too, may hold ids of what was lost.
--
-- Where the database was restored by other means (a snapshot, point-in-time recovery):
-- psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f docs/deploy/skip-ids.sql
\o /dev/null
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 100000)
  FROM pg_sequences WHERE schemaname = 'public' AND data_type = 'bigint'::regtype;
