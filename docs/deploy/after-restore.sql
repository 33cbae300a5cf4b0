-- After a restore, before any process starts; restore.sh does it. Where the database was restored by other means (a
-- snapshot, point-in-time recovery): psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f docs/deploy/after-restore.sql
\o /dev/null
BEGIN;

-- 100,000 ids of each table are skipped. Hosts name machines, disks and volumes by the ids of their rows. What was
-- created after the backup is still on the hosts, and not in the database: without the gap a new instance would get
-- the id of a lost one, and with it that one's machine and disks, with what another customer has on them. Clients,
-- too, may hold ids of what was lost.
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 100000)
  FROM pg_sequences
 WHERE schemaname = (SELECT nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                      WHERE c.oid = 'compute_instance'::regclass)
   AND data_type = 'bigint'::regtype;

-- Firewalls that were changed after the backup are on the hosts under numbers that the database has not given yet:
-- each host gets the present ones again, under numbers beyond them. So it does where the first one came after the
-- backup: it is still in force.
INSERT INTO compute_packetfilter (instance_id, wanted) SELECT id, 1 FROM compute_instance
    ON CONFLICT (instance_id) DO NOTHING;
UPDATE compute_packetfilter
   SET wanted = wanted + 100000, changed = now(), run_at = now(), attempt = 0;

-- Jobs that were under way have as long as new ones: past its deadline a job is undone, which of a creation deletes the
-- machine with its disks, and its customer may have worked on it since the backup.
UPDATE compute_job SET deadline_at = now() + (deadline_at - created) WHERE state IN ('active', 'undoing');

-- Name servers elsewhere have zones that were changed after the backup: they take a zone with a higher serial alone.
UPDATE compute_domain SET serial = greatest(serial + 1, extract(epoch FROM now())::bigint);

COMMIT;
