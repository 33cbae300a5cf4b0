-- Run this after a restore, before any process starts. restore.sh runs it. If you restore the database in another way (a
-- snapshot, point-in-time recovery): psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f docs/deploy/after-restore.sql
\o /dev/null
BEGIN;

-- Skip 100,000 ids of each table. Hosts name machines, disks and volumes by the ids of their rows. Machines that were
-- created after the backup are still on the hosts, but not in the database. Without the gap, a new instance would get the
-- id of such a lost instance, and with it the machine and the disks, maybe with data of another customer. Clients may
-- know ids of lost objects too.
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 100000)
  FROM pg_sequences
 WHERE schemaname = (SELECT nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                      WHERE c.oid = 'compute_instance'::regclass)
   AND data_type = 'bigint'::regtype;

-- Send all firewalls to the hosts again, with higher version numbers. A host keeps the firewall with the highest version,
-- so it would keep one that was changed after the backup. Instances without a row get one, because their first
-- firewall may have come after the backup and may still be in force.
INSERT INTO compute_packetfilter (instance_id, wanted) SELECT id, 1 FROM compute_instance
    ON CONFLICT (instance_id) DO NOTHING;
UPDATE compute_packetfilter
   SET wanted = wanted + 100000, changed = now(), run_at = now(), attempt = 0;

-- Extend the deadlines of running jobs. A job past its deadline is undone. If it is a create, its machine and disks are
-- deleted, although the customer may have used the machine since the backup.
UPDATE compute_job SET deadline_at = now() + (deadline_at - created) WHERE state IN ('active', 'undoing');

-- Raise the serials of all zones. Name servers may have zones that were changed after the backup, and accept only a
-- higher serial.
UPDATE compute_domain SET serial = greatest(serial + 1, extract(epoch FROM now())::bigint);

COMMIT;
