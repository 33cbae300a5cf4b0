-- accounts.authentication._OAUTH
SELECT t.id, t.scope, c.client_id,
       u.id, u.username, u.restricted, u.account_id, g.account_access, g.add_computes, g.add_databases, g.add_domains, g.add_firewalls, g.add_images, g.add_longview, g.add_nodebalancers, g.add_stackscripts, g.add_volumes, g.cancel_account, g.longview_subscription

  FROM accounts_oauthaccesstoken t
  JOIN accounts_oauthclient c ON c.id = t.application_id AND c.status = 'active'
  LEFT JOIN accounts_account o ON o.id = c.account_id
  JOIN accounts_user u ON u.id = t.user_id AND u.is_active
  JOIN accounts_account a ON a.id = u.account_id AND a.is_active
  LEFT JOIN accounts_globalgrants g ON g.user_id = u.id AND u.restricted

 WHERE t.token_checksum = %s AND t.expires > statement_timestamp() AND o.is_active IS NOT FALSE

-- accounts.authentication._PERSONAL
SELECT t.id, t.scopes, c.client_id,
       u.id, u.username, u.restricted, u.account_id, g.account_access, g.add_computes, g.add_databases, g.add_domains, g.add_firewalls, g.add_images, g.add_longview, g.add_nodebalancers, g.add_stackscripts, g.add_volumes, g.cancel_account, g.longview_subscription

  FROM accounts_personaltoken t
  JOIN accounts_user u ON u.id = t.user_id AND u.is_active
  JOIN accounts_account a ON a.id = u.account_id AND a.is_active
  LEFT JOIN accounts_globalgrants g ON g.user_id = u.id AND u.restricted

  LEFT JOIN accounts_oauthclient c ON c.id = t.client_id
  LEFT JOIN accounts_account o ON o.id = c.account_id
 WHERE t.digest = %s AND (t.expiry IS NULL OR t.expiry > statement_timestamp())
   AND (t.client_id IS NULL OR (c.status = 'active' AND o.is_active IS NOT FALSE))

-- accounts.services.outbox._CLAIM
UPDATE accounts_message
   SET lease_until = statement_timestamp() + (%(lease)s)::float8 * interval '1 second', fence = fence + 1, attempt = attempt + 1, run_at = statement_timestamp() + (%(lease)s)::float8 * interval '1 second'
 WHERE id = ANY(ARRAY(
SELECT id FROM accounts_message
 WHERE NOT given_up AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED
))
RETURNING id, channel, recipient, subject, encrypted, attempt, error, created, run_at, lease_until, fence, given_up

-- accounts.services.outbox._FIRST_DUE
SELECT id FROM accounts_message
 WHERE NOT given_up AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED

-- accounts.services.outbox._POSTPONE
UPDATE accounts_message
   SET lease_until = NULL, error = %(error)s, given_up = attempt >= %(attempts)s,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE statement_timestamp() + (%(delay)s)::float8 * interval '1 second' END
 WHERE id = %(id)s AND fence = %(fence)s

-- accounts.services.thumbnails._BEING_DRAWN
SELECT FROM accounts_picture WHERE (lease_until > statement_timestamp() AND lease_until <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')

-- accounts.services.thumbnails._CLAIM
UPDATE accounts_picture
   SET lease_until = statement_timestamp() + (%(lease)s)::float8 * interval '1 second', fence = fence + 1, attempt = attempt + 1
 WHERE id = ANY(ARRAY(
SELECT id FROM accounts_picture
 WHERE (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND NOT EXISTS (SELECT FROM accounts_picture WHERE (lease_until > statement_timestamp() AND lease_until <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED
))
RETURNING id, client_id, content, attempt, run_at, lease_until, fence

-- accounts.services.thumbnails._FIRST_DUE
SELECT id FROM accounts_picture
 WHERE (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND NOT EXISTS (SELECT FROM accounts_picture WHERE (lease_until > statement_timestamp() AND lease_until <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED

-- compute.admin.usual_times._USUAL
WITH done AS (
    SELECT kind, step_seconds, EXTRACT(epoch FROM finished_at - created)::float8 AS seconds
      FROM (
        SELECT kind, state, step_seconds, created, finished_at FROM compute_job ORDER BY id DESC LIMIT %(newest)s
      ) AS newest
     WHERE state = 'done'
), times AS (
    SELECT kind, NULL AS step, seconds FROM done
     UNION ALL
    SELECT kind, step.key, step.value::float8 FROM done, jsonb_each_text(step_seconds) AS step
)
SELECT kind, step, percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) * interval '1 second'
  FROM times GROUP BY kind, step HAVING count(*) >= %(enough)s

-- compute.drivers.simulated.driver.SimulatedDriver.all_machines
SELECT m.name, array_remove(array_agg(d.name), NULL) AS disks FROM simulated.machine m LEFT JOIN simulated.disk d ON d.machine = m.name GROUP BY m.name

-- compute.drivers.simulated.driver.SimulatedDriver.archive_size
SELECT * FROM simulated.archive_size(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.archive_upload
SELECT * FROM simulated.archive_upload(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.archives
SELECT name FROM simulated.archive

-- compute.drivers.simulated.driver.SimulatedDriver.booted
SELECT boot, boots FROM simulated.machine WHERE name = %s

-- compute.drivers.simulated.driver.SimulatedDriver.calls
SELECT call, count FROM simulated.call WHERE machine = %s

-- compute.drivers.simulated.driver.SimulatedDriver.clear_faults
WITH gone AS (DELETE FROM simulated.fault) DELETE FROM simulated.call

-- compute.drivers.simulated.driver.SimulatedDriver.create_disk
SELECT * FROM simulated.create_disk((%s, %s, %s, %s, %s, %s, %s, now(), now(), %s, %s)::simulated.disk, %s, %s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.create_volume
SELECT * FROM simulated.create_volume(%s, %s, %s, %s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.define
SELECT * FROM simulated.define(%s, %s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.delete_archive
SELECT * FROM simulated.delete_archive(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.delete_disk
SELECT * FROM simulated.delete_disk(%s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.delete_volume
SELECT * FROM simulated.delete_volume(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.discard
SELECT * FROM simulated.discard(%s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.disks
SELECT * FROM simulated.disks(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.faults
SELECT * FROM simulated.fault ORDER BY id

-- compute.drivers.simulated.driver.SimulatedDriver.fill
UPDATE simulated.disk SET used = %s WHERE machine = %s AND name = %s

-- compute.drivers.simulated.driver.SimulatedDriver.fill_volume
UPDATE simulated.volume SET used = %s WHERE name = %s

-- compute.drivers.simulated.driver.SimulatedDriver.firewall
SELECT firewall FROM simulated.machine WHERE name = %s AND firewall_version > 0

-- compute.drivers.simulated.driver.SimulatedDriver.forget_all
WITH gone AS (DELETE FROM simulated.archive), drained AS (DELETE FROM simulated.volume), cleared AS (DELETE FROM simulated.aside) DELETE FROM simulated.machine

-- compute.drivers.simulated.driver.SimulatedDriver.inventory
SELECT * FROM simulated.inventory(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.lets_in
SELECT root_hash, fingerprints FROM simulated.disk WHERE machine = %s AND name = %s

-- compute.drivers.simulated.driver.SimulatedDriver.lose_power
UPDATE simulated.machine SET power = 'off', settles_at = clock_timestamp(), halts_at = NULL, fell = %s WHERE name = %s AND power = 'on'

-- compute.drivers.simulated.driver.SimulatedDriver.plug
SELECT * FROM simulated.plug(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.plugged
SELECT plugged FROM simulated.machine m WHERE name = %s AND NOT simulated.is_off(m, clock_timestamp())

-- compute.drivers.simulated.driver.SimulatedDriver.power
SELECT * FROM simulated.power(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.power_off
UPDATE simulated.machine SET halts_at = clock_timestamp() WHERE name = %s AND power = 'on'

-- compute.drivers.simulated.driver.SimulatedDriver.powered_off
SELECT * FROM simulated.powered_off(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.ran_script
SELECT script_digest FROM simulated.disk WHERE machine = %s AND name = %s

-- compute.drivers.simulated.driver.SimulatedDriver.receive
SELECT * FROM simulated.receive(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.resize_disk
SELECT * FROM simulated.resize_disk(%s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.resize_volume
SELECT * FROM simulated.resize_volume(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.save_disk
SELECT * FROM simulated.save_disk(%s, %s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.script
INSERT INTO simulated.fault (action, call, machine, host, nth, count, amount) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id

-- compute.drivers.simulated.driver.SimulatedDriver.set_aside
SELECT * FROM simulated.set_aside(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.set_firewall
SELECT * FROM simulated.set_firewall(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.set_password
SELECT * FROM simulated.set_password(%s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.set_volume_aside
SELECT * FROM simulated.set_volume_aside(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.start
SELECT * FROM simulated.start(%s, %s, %s, %s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.stop
SELECT * FROM simulated.stop(%s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.undefine
SELECT * FROM simulated.undefine(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.unplug
SELECT * FROM simulated.unplug(%s, %s)

-- compute.drivers.simulated.driver.SimulatedDriver.usage
SELECT * FROM simulated.usage(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.volume_size
SELECT * FROM simulated.volume_size(%s)

-- compute.drivers.simulated.driver.SimulatedDriver.volumes
SELECT name, size FROM simulated.volume

-- compute.drivers.simulated.session.Session._prepare
SELECT obj_description(to_regnamespace('simulated'), 'pg_namespace'), set_config('synchronous_commit', 'off', false) AS commit, set_config('statement_timeout', %s, false) AS timeout

-- compute.drivers.simulated.session.install
SELECT pg_advisory_xact_lock(%s)

-- compute.drivers.simulated.session.install (2)
SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'simulated'

-- compute.drivers.simulated.session.install (3)
SET LOCAL client_min_messages = warning

-- compute.drivers.simulated.session.install (4)
COMMENT ON SCHEMA simulated IS '{VERSION}'

-- compute.jobs.claims._NEXT
WITH RECURSIVE busy AS MATERIALIZED (
    SELECT account_id, share_host FROM compute_job WHERE share_slot IS NOT NULL
), share AS MATERIALIZED (
    SELECT (
    SELECT GREATEST(1, floor(%(host_share)s::float8 * COALESCE(NULLIF(sum(slots), 0), %(unknown)s::bigint)))::bigint
      FROM compute_heartbeat
     WHERE kind = 'worker' AND 'celery' = ANY(queues) AND stopped IS NULL
       AND seen > statement_timestamp() - interval '30 seconds') AS slots
), waiting AS (
    (SELECT account_id, bulk, share_host, run_at FROM compute_job WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL ORDER BY account_id, bulk, share_host, run_at LIMIT 1)
     UNION ALL
    SELECT later.* FROM waiting CROSS JOIN LATERAL (
        SELECT account_id, bulk, share_host, run_at FROM compute_job
         WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND (account_id, bulk, share_host) > (waiting.account_id, waiting.bulk, waiting.share_host)
         ORDER BY account_id, bulk, share_host, run_at LIMIT 1) AS later
), chosen AS (
    SELECT first.id, first.notified_at
      FROM (
        SELECT account_id, bulk, share_host FROM waiting
         WHERE run_at <= statement_timestamp()
           AND (SELECT count(*) FROM busy WHERE busy.share_host = waiting.share_host) < (SELECT slots FROM share)
         ORDER BY (SELECT count(*) FROM busy WHERE busy.account_id = waiting.account_id),
                  bulk AND run_at > statement_timestamp() + (-%(longest_bulk_wait)s::float8)::float8 * interval '1 second',
                  (SELECT max(claimed_at) FROM compute_job
                    WHERE account_id = waiting.account_id AND claimed_at <= statement_timestamp()) NULLS FIRST,
                  run_at) AS ranked
     CROSS JOIN LATERAL (
        SELECT id, notified_at FROM compute_job
         WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND (account_id, bulk, share_host) = (ranked.account_id, ranked.bulk, ranked.share_host)
           AND run_at <= statement_timestamp()
         ORDER BY run_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS first
     LIMIT 1
), claimed AS (
    UPDATE compute_job SET lease_until = statement_timestamp() + (%(lease)s)::float8 * interval '1 second', fence = fence + 1, attempt = attempt + 1, claimed_at = statement_timestamp(),
           ready = false, notified_at = NULL,
           share_slot = (
               SELECT number FROM generate_series(1, (SELECT slots FROM share)) AS number
                WHERE number NOT IN (
                    SELECT taken.share_slot FROM compute_job AS taken
                     WHERE taken.share_host = compute_job.share_host AND taken.share_slot IS NOT NULL)
                ORDER BY random() LIMIT 1)
      FROM chosen WHERE compute_job.id = chosen.id
 RETURNING compute_job.id, compute_job.instance_id, compute_job.last_host_id, compute_job.source_id, compute_job.volume_id, compute_job.event_id, compute_job.waits_for_id, compute_job.kind, compute_job.state, compute_job.step, compute_job.step_began, compute_job.step_seconds, compute_job.data, compute_job.encrypted, compute_job.error, compute_job.cancelled, compute_job.attempt, compute_job.fence, compute_job.account_id, compute_job.bulk, compute_job.share_host, compute_job.share_slot, compute_job.created_by, compute_job.traceparent, compute_job.created, compute_job.run_at, compute_job.ready, compute_job.notified_at, compute_job.lease_until, compute_job.claimed_at, compute_job.deadline_at, compute_job.finished_at, chosen.notified_at IS NOT NULL AS was_notified
), updated_event AS (
    UPDATE accounts_event SET status = 'started', started = statement_timestamp()
      FROM claimed WHERE accounts_event.id = claimed.event_id AND accounts_event.status = 'scheduled'
)
SELECT *, deadline_at < statement_timestamp() AS overdue, (
    SELECT jsonb_build_array(h.uuid, h.driver, h.location, h.shared, h.host_key, h.unreachable_since IS NOT NULL)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = claimed.instance_id) AS host, (
    SELECT jsonb_build_object('account_id', i.account_id, 'instance', i.label, 'host', h.label)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = claimed.instance_id) AS named
  FROM claimed

-- compute.jobs.claims._OTHERS_WAIT
SELECT EXISTS (
    SELECT FROM compute_job AS other
     WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND run_at <= statement_timestamp() AND account_id <> %s
       AND NOT EXISTS (
        SELECT FROM compute_job AS busy WHERE busy.share_slot IS NOT NULL AND busy.account_id = other.account_id))

-- compute.jobs.parking._PARK
WITH parked AS (
    UPDATE compute_job
       SET waits_for_id = %(host)s, error = %(error)s, lease_until = NULL, share_slot = NULL, notified_at = NULL,
           attempt = GREATEST(0, attempt - %(uncounted)s),
           run_at = CASE WHEN ready THEN statement_timestamp()
                         WHEN state = 'active' AND NOT %(overdue)s
                         THEN LEAST(deadline_at, statement_timestamp() + (%(longest)s)::float8 * interval '1 second')
                         ELSE statement_timestamp() + (%(longest)s)::float8 * interval '1 second' END
     WHERE id = %(id)s AND fence = %(fence)s AND state IN ('active', 'undoing')
       AND EXISTS (SELECT FROM compute_host WHERE id = %(host)s AND unreachable_since IS NOT NULL)
 RETURNING id, event_id
), updated_event AS (
    UPDATE accounts_event
       SET message = concat_ws(' ', NULLIF(message, ''), %(message)s::text), rate = NULL, time_remaining = NULL
      FROM parked WHERE accounts_event.id = parked.event_id AND strpos(message, %(message)s::text) = 0
)
SELECT id FROM parked

-- compute.jobs.parking._RESUME
WITH resumed AS (
    UPDATE compute_job
       SET waits_for_id = NULL, run_at = statement_timestamp(), ready = true, notified_at = NULL
     WHERE id = ANY(ARRAY(
SELECT job.id FROM compute_job AS job
 WHERE job.state IN ('active', 'undoing') AND job.waits_for_id IS NOT NULL AND job.lease_until IS NULL
   AND NOT EXISTS (
    SELECT FROM compute_host AS host
     WHERE host.id = job.waits_for_id AND host.unreachable_since IS NOT NULL
       AND (job.instance_id IS NOT NULL OR NOT EXISTS (
            SELECT FROM compute_host AS other
             WHERE other.region_id = host.region_id AND other.unreachable_since IS NULL)))
 ORDER BY job.id FOR UPDATE SKIP LOCKED
))
 RETURNING id, event_id
), updated_event AS (
    UPDATE accounts_event SET message = btrim(replace(message, %(message)s::text, '')) WHERE id = ANY(ARRAY(
SELECT id FROM accounts_event WHERE id IN (SELECT event_id FROM resumed) ORDER BY id FOR NO KEY UPDATE))
)
SELECT id FROM resumed

-- compute.jobs.parking._THEIR_EVENTS
SELECT id FROM accounts_event WHERE id IN (SELECT event_id FROM resumed) ORDER BY id FOR NO KEY UPDATE

-- compute.jobs.parking._TO_RESUME
SELECT job.id FROM compute_job AS job
 WHERE job.state IN ('active', 'undoing') AND job.waits_for_id IS NOT NULL AND job.lease_until IS NULL
   AND NOT EXISTS (
    SELECT FROM compute_host AS host
     WHERE host.id = job.waits_for_id AND host.unreachable_since IS NOT NULL
       AND (job.instance_id IS NOT NULL OR NOT EXISTS (
            SELECT FROM compute_host AS other
             WHERE other.region_id = host.region_id AND other.unreachable_since IS NULL)))
 ORDER BY job.id FOR UPDATE SKIP LOCKED

-- compute.jobs.parking._UNPARK
WITH unparked AS (
    UPDATE compute_job SET waits_for_id = NULL WHERE id = %(id)s AND fence = %(fence)s
 RETURNING event_id
)
UPDATE accounts_event SET message = btrim(replace(message, %(message)s::text, '')) FROM unparked WHERE accounts_event.id = unparked.event_id

-- compute.jobs.store._CLAIM
WITH claimed AS (
    UPDATE compute_job SET lease_until = statement_timestamp() + (%(lease)s)::float8 * interval '1 second', fence = fence + 1, attempt = attempt + 1, claimed_at = statement_timestamp(),
           ready = false, notified_at = NULL
     WHERE id = %(id)s AND state IN ('active', 'undoing') AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 RETURNING compute_job.id, compute_job.instance_id, compute_job.last_host_id, compute_job.source_id, compute_job.volume_id, compute_job.event_id, compute_job.waits_for_id, compute_job.kind, compute_job.state, compute_job.step, compute_job.step_began, compute_job.step_seconds, compute_job.data, compute_job.encrypted, compute_job.error, compute_job.cancelled, compute_job.attempt, compute_job.fence, compute_job.account_id, compute_job.bulk, compute_job.share_host, compute_job.share_slot, compute_job.created_by, compute_job.traceparent, compute_job.created, compute_job.run_at, compute_job.ready, compute_job.notified_at, compute_job.lease_until, compute_job.claimed_at, compute_job.deadline_at, compute_job.finished_at
), updated_event AS (
    UPDATE accounts_event SET status = 'started', started = statement_timestamp()
      FROM claimed WHERE accounts_event.id = claimed.event_id AND accounts_event.status = 'scheduled'
)
SELECT *, deadline_at < statement_timestamp() AS overdue, (
    SELECT jsonb_build_array(h.uuid, h.driver, h.location, h.shared, h.host_key, h.unreachable_since IS NOT NULL)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = claimed.instance_id) AS host, (
    SELECT jsonb_build_object('account_id', i.account_id, 'instance', i.label, 'host', h.label)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = claimed.instance_id) AS named
  FROM claimed

-- compute.jobs.store._FINISH
WITH finished AS (
    UPDATE compute_job
       SET state = %(state)s::text, error = %(error)s, encrypted = NULL, lease_until = NULL, share_slot = NULL,
           step_seconds = step_seconds || jsonb_build_object(
               CASE state WHEN 'undoing' THEN 'undo ' ELSE '' END || step,
               GREATEST(0, round(EXTRACT(epoch FROM statement_timestamp() - step_began), 3))),
           finished_at = statement_timestamp()
     WHERE id = %(id)s AND fence = %(fence)s AND state IN ('active', 'undoing')
 RETURNING compute_job.id, compute_job.instance_id, compute_job.last_host_id, compute_job.source_id, compute_job.volume_id, compute_job.event_id, compute_job.waits_for_id, compute_job.kind, compute_job.state, compute_job.step, compute_job.step_began, compute_job.step_seconds, compute_job.data, compute_job.encrypted, compute_job.error, compute_job.cancelled, compute_job.attempt, compute_job.fence, compute_job.account_id, compute_job.bulk, compute_job.share_host, compute_job.share_slot, compute_job.created_by, compute_job.traceparent, compute_job.created, compute_job.run_at, compute_job.ready, compute_job.notified_at, compute_job.lease_until, compute_job.claimed_at, compute_job.deadline_at, compute_job.finished_at
), updated_event AS (
    UPDATE accounts_event
       SET status = %(event_status)s::text,
           message = CASE %(message)s::text
               WHEN '' THEN message
               WHEN %(superseded)s::text THEN %(message)s::text
               ELSE concat_ws(' ', NULLIF(message, ''), %(message)s::text) END,
           percent_complete = CASE WHEN %(event_status)s::text = 'finished' THEN 100 ELSE percent_complete END,
           duration = EXTRACT(epoch FROM statement_timestamp() - COALESCE(started, statement_timestamp())),
           time_remaining = CASE WHEN %(event_status)s::text = 'finished' THEN 0 END
      FROM finished WHERE accounts_event.id = finished.event_id
), confirmed AS (
    UPDATE compute_instance
       SET status = %(status)s::text, updated = statement_timestamp(),
           booted_config_id = COALESCE(
               (SELECT id FROM compute_config WHERE id = %(booted)s::bigint AND NOT rescue), booted_config_id)
      FROM finished WHERE compute_instance.id = finished.instance_id
       AND compute_instance.status = %(during)s::text AND %(status)s::text IS NOT NULL
)
SELECT * FROM finished

-- compute.jobs.store._FINISH_EVENT_SEGMENT
UPDATE accounts_event
   SET status = 'finished', percent_complete = 100,
       duration = EXTRACT(epoch FROM statement_timestamp() - COALESCE(started, statement_timestamp())),
       time_remaining = 0
 WHERE id = %s

-- compute.jobs.store._JOIN
UPDATE compute_job SET instance_id = compute_instance.id
  FROM compute_instance
 WHERE compute_job.id = %(id)s AND compute_instance.id = %(instance)s AND compute_instance.status = ANY(%(settled)s)
   AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.instance_id = compute_instance.id AND live.id <> %(id)s AND live.state IN ('active', 'undoing'))

-- compute.jobs.store._JOIN_VOLUME
UPDATE compute_job SET volume_id = %(volume)s
 WHERE id = %(id)s AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.volume_id = %(volume)s AND live.id <> %(id)s AND live.state IN ('active', 'undoing'))

-- compute.jobs.store._LOCK_HISTORY
SELECT FROM compute_job WHERE instance_id = %(instance)s OR source_id = %(instance)s OR id = %(id)s
 ORDER BY id FOR NO KEY UPDATE

-- compute.jobs.store._LOCK_INSTANCES
SELECT FROM compute_instance WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE

-- compute.jobs.store._LOCK_JOB
SELECT FROM compute_job WHERE id = %s FOR NO KEY UPDATE

-- compute.jobs.store._LOCK_MINE
SELECT FROM compute_job WHERE id = %(id)s AND fence = %(fence)s FOR NO KEY UPDATE

-- compute.jobs.store._LOCK_VOLUME
SELECT FROM compute_volume WHERE id = %s FOR NO KEY UPDATE

-- compute.jobs.store._PROMOTE
UPDATE compute_job AS queued
   SET state = 'active', run_at = statement_timestamp(), step_began = statement_timestamp(),
       notified_at = statement_timestamp(),
       deadline_at = statement_timestamp() + (deadline_at - created)
 WHERE state = 'queued' AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.instance_id = queued.instance_id AND live.state IN ('active', 'undoing'))
RETURNING id

-- compute.jobs.store._SETTLE
WITH settled AS (
    UPDATE compute_job
       SET state = %(state)s::text, step = %(step)s::text, error = %(error)s,
           data = COALESCE(%(data)s::jsonb, data),
           step_began = CASE WHEN (step, state) = (%(step)s::text, %(state)s::text) THEN step_began ELSE statement_timestamp() END,
           step_seconds = CASE WHEN (step, state) = (%(step)s::text, %(state)s::text) THEN step_seconds ELSE step_seconds || jsonb_build_object(
               CASE state WHEN 'undoing' THEN 'undo ' ELSE '' END || step,
               GREATEST(0, round(EXTRACT(epoch FROM statement_timestamp() - step_began), 3))) END,
           attempt = CASE WHEN %(keep_attempt)s::boolean THEN attempt ELSE 0 END,

           lease_until = CASE WHEN %(keep_lease)s::boolean THEN statement_timestamp() + (%(lease)s)::float8 * interval '1 second' END,
           share_slot = CASE WHEN %(keep_lease)s::boolean THEN share_slot END,
           share_host = CASE WHEN %(keep_lease)s::boolean THEN share_host ELSE COALESCE(
               (SELECT i.host_id FROM compute_instance i WHERE i.id = compute_job.instance_id), share_host) END,
           run_at = CASE WHEN (ready AND NOT %(keep_lease)s::boolean) THEN statement_timestamp() ELSE statement_timestamp() + (%(delay)s)::float8 * interval '1 second' END,
           ready = %(ready)s::boolean OR (ready AND NOT %(keep_lease)s::boolean),
           notified_at = CASE WHEN %(ready)s::boolean THEN statement_timestamp() END
     WHERE id = %(id)s AND fence = %(fence)s AND state IN ('active', 'undoing')
 RETURNING compute_job.id, compute_job.instance_id, compute_job.last_host_id, compute_job.source_id, compute_job.volume_id, compute_job.event_id, compute_job.waits_for_id, compute_job.kind, compute_job.state, compute_job.step, compute_job.step_began, compute_job.step_seconds, compute_job.data, compute_job.encrypted, compute_job.error, compute_job.cancelled, compute_job.attempt, compute_job.fence, compute_job.account_id, compute_job.bulk, compute_job.share_host, compute_job.share_slot, compute_job.created_by, compute_job.traceparent, compute_job.created, compute_job.run_at, compute_job.ready, compute_job.notified_at, compute_job.lease_until, compute_job.claimed_at, compute_job.deadline_at, compute_job.finished_at
), updated_event AS (
    UPDATE accounts_event
       SET percent_complete = GREATEST(percent_complete, %(percent)s::smallint),
           rate = COALESCE(%(rate)s::text, rate), time_remaining = %(remaining)s::integer
      FROM settled WHERE accounts_event.id = settled.event_id AND %(percent)s::smallint IS NOT NULL
)
SELECT *, deadline_at < statement_timestamp() AS overdue, (
    SELECT jsonb_build_array(h.uuid, h.driver, h.location, h.shared, h.host_key, h.unreachable_since IS NOT NULL)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = settled.instance_id) AS host FROM settled

-- compute.jobs.sweeps._COUNT
SELECT count(*), count(*) FILTER (WHERE (notified_at IS NULL OR notified_at <= statement_timestamp() + (-%(patience)s::float8)::float8 * interval '1 second' OR notified_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND notified_at IS NOT NULL) FROM compute_job WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND notified_at IS NOT NULL

-- compute.jobs.sweeps._FREE_SLOTS
UPDATE compute_job SET share_slot = NULL
 WHERE id = ANY(ARRAY(
    SELECT id FROM compute_job WHERE share_slot IS NOT NULL AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) FOR UPDATE SKIP LOCKED))

-- compute.jobs.sweeps._MAKE_READY
UPDATE compute_job
   SET ready = true, lease_until = NULL, notified_at = NULL, run_at = LEAST(run_at, statement_timestamp())
 WHERE id = ANY(ARRAY(
    SELECT id FROM compute_job
     WHERE state IN ('active', 'undoing') AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
       AND (NOT ready OR lease_until IS NOT NULL OR run_at > statement_timestamp())
       FOR UPDATE SKIP LOCKED))

-- compute.jobs.sweeps._NOTIFY
UPDATE compute_job SET notified_at = statement_timestamp()

-- compute.jobs.sweeps._NOTIFY_AGAIN
UPDATE compute_job SET notified_at = statement_timestamp()
 WHERE id = ANY(ARRAY(
    SELECT id FROM compute_job WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND run_at <= statement_timestamp() AND (notified_at IS NULL OR notified_at <= statement_timestamp() + (-%(patience)s::float8)::float8 * interval '1 second' OR notified_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND notified_at IS NOT NULL
     ORDER BY notified_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id

-- compute.jobs.sweeps._NOTIFY_DUE
WITH busy AS MATERIALIZED (
    SELECT share_host, count(*) AS jobs FROM compute_job WHERE share_slot IS NOT NULL GROUP BY share_host
), waiting AS MATERIALIZED (
    SELECT id, COALESCE(busy.jobs, 0) + row_number() OVER (PARTITION BY share_host ORDER BY run_at, id) AS place
      FROM compute_job LEFT JOIN busy USING (share_host) WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND notified_at IS NULL AND run_at <= statement_timestamp()
)
UPDATE compute_job SET notified_at = statement_timestamp()
 WHERE id = ANY(ARRAY(
    SELECT job.id FROM compute_job AS job JOIN waiting ON waiting.id = job.id AND waiting.place <= (
    SELECT GREATEST(1, floor(%(host_share)s::float8 * COALESCE(NULLIF(sum(slots), 0), %(unknown)s::bigint)))::bigint
      FROM compute_heartbeat
     WHERE kind = 'worker' AND 'celery' = ANY(queues) AND stopped IS NULL
       AND seen > statement_timestamp() - interval '30 seconds')
     WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND notified_at IS NULL AND run_at <= statement_timestamp()
     ORDER BY job.run_at LIMIT %(limit)s FOR NO KEY UPDATE OF job SKIP LOCKED))
RETURNING id

-- compute.jobs.sweeps._NOTIFY_ONE
UPDATE compute_job SET notified_at = statement_timestamp()
 WHERE id = ANY(ARRAY(
    SELECT id FROM compute_job WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND notified_at IS NULL AND run_at <= statement_timestamp()
     ORDER BY run_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id

-- compute.jobs.sweeps._RETURN
UPDATE compute_job SET notified_at = NULL
 WHERE id = ANY(ARRAY(
    SELECT id FROM compute_job WHERE state IN ('active', 'undoing') AND ready AND lease_until IS NULL AND notified_at IS NOT NULL
     ORDER BY id = %s DESC, notified_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED))

-- compute.services.backups.schedule._clock
SELECT statement_timestamp()

-- compute.services.catalogue.applying.apply
LOCK TABLE {SeededRow._meta.db_table} IN SHARE ROW EXCLUSIVE MODE

-- compute.services.catalogue.current_rows._KERNELS_OF_BACKUPS
SELECT DISTINCT profile ->> 'kernel_id' FROM compute_backup, jsonb_array_elements(profiles) AS profile

-- compute.services.consoles._STILL_THERE
UPDATE compute_consolesession SET seen = statement_timestamp() WHERE id = ANY(%s) AND ended IS NULL
RETURNING id, CASE WHEN instance_id IS NULL THEN %s WHEN user_id IS NULL THEN %s ELSE to_end END

-- compute.services.domains.domains._ADD
INSERT INTO compute_domainrecord (domain_id, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, created, updated)
SELECT %(domain)s, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, statement_timestamp(), statement_timestamp()

  FROM jsonb_populate_recordset(NULL::compute_domainrecord, %(rows)s::jsonb) WITH ORDINALITY ORDER BY ordinality

-- compute.services.domains.domains._COPY
INSERT INTO compute_domainrecord (domain_id, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, created, updated)
SELECT %(domain)s, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, statement_timestamp(), statement_timestamp()
 FROM compute_domainrecord WHERE domain_id = %(source)s ORDER BY id

-- compute.services.domains.domains._INSERT
INSERT INTO compute_domainrecord (domain_id, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, created, updated)
SELECT %(domain)s, type, name, target, priority, weight, port, service, protocol, ttl_sec, tag, statement_timestamp(), statement_timestamp()

-- compute.services.heartbeats._RECORD
INSERT INTO compute_heartbeat (id, kind, hostname, pid, version, queues, slots)
VALUES (%(id)s, %(kind)s, %(hostname)s, %(pid)s, %(version)s, %(queues)s, %(slots)s)
ON CONFLICT (id) DO UPDATE
   SET seen = statement_timestamp(), stopped = NULL, queues = excluded.queues,
       slots = excluded.slots

-- compute.services.heartbeats._STOP
UPDATE compute_heartbeat SET seen = statement_timestamp(), stopped = statement_timestamp() WHERE id = %s

-- compute.services.hosts.addresses._KNOWN
SELECT location, host(underlay) FROM compute_host WHERE location LIKE '%://%' OR underlay IS NOT NULL

-- compute.services.hosts.drift_records.COMPARE_EVERYWHERE
UPDATE compute_host SET reconcile_at = statement_timestamp() WHERE reconcile_at > statement_timestamp()

-- compute.services.hosts.drift_records._CLAIM
UPDATE compute_host SET reconcile_at = statement_timestamp() + %(every)s * interval '1 second'
 WHERE id = %(id)s AND reconcile_at <= statement_timestamp() AND unreachable_since IS NULL
RETURNING id

-- compute.services.hosts.drift_records._WRITE
INSERT INTO compute_drift AS d (host_id, kind, name, instance_id, disk_id, volume_id, detail)
SELECT %(host)s, f.kind, f.name,
       (SELECT id FROM compute_instance WHERE id = f.instance_id FOR KEY SHARE),
       (SELECT id FROM compute_disk WHERE id = f.disk_id FOR KEY SHARE),
       (SELECT id FROM compute_volume WHERE id = f.volume_id FOR KEY SHARE),
       f.detail
  FROM jsonb_to_recordset(%(found)s::jsonb)
    AS f(kind text, name text, instance_id bigint, disk_id bigint, volume_id bigint, detail text)
 ORDER BY f.kind, f.name
ON CONFLICT (host_id, kind, name) WHERE resolved_at IS NULL DO UPDATE
   SET seen = CASE WHEN d.instance_id IS NOT DISTINCT FROM excluded.instance_id THEN d.seen + 1 ELSE 1 END,
       instance_id = excluded.instance_id, disk_id = excluded.disk_id, volume_id = excluded.volume_id,
       last_seen = statement_timestamp(), detail = excluded.detail
RETURNING id

-- compute.services.hosts.free_capacity._full_regions
SELECT r.id FROM regions_region r
 WHERE NOT EXISTS (
    SELECT FROM compute_instancetype t
     WHERE t.id = ANY(%(types)s)
       AND EXISTS (SELECT FROM compute_host h
                    WHERE h.region_id = r.id AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk
                      AND h.driver = (SELECT driver FROM compute_host WHERE id = %(host)s)))

-- compute.services.hosts.free_capacity._full_types
SELECT t.id FROM compute_instancetype t
 WHERE t.id = ANY(%(types)s)
   AND NOT EXISTS (SELECT FROM compute_host h
                    WHERE h.region_id = %(region)s AND h.id <> %(host)s AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk)
   AND NOT EXISTS (SELECT FROM compute_host h
                     LEFT JOIN compute_reservation v ON v.host_id = h.id AND v.instance_id = %(instance)s
                    WHERE h.id = %(host)s AND h.memory_used + GREATEST(t.memory - COALESCE(v.memory, 0), 0) <= h.memory AND h.vcpus_used + GREATEST(t.vcpus - COALESCE(v.vcpus, 0), 0) <= h.vcpus AND h.disk_used + GREATEST(t.disk - COALESCE(v.disk, 0), 0) <= h.disk)

-- compute.services.hosts.placement._PLACE
WITH chosen AS (
    SELECT id FROM compute_host
     WHERE region_id = %(region)s AND id IS DISTINCT FROM %(avoid)s::bigint AND {wanted} AND {fits}
       AND (%(image)s::text IS NULL OR images IS NULL OR %(image)s = ANY(images))
       AND (%(like)s::bigint IS NULL OR driver = (SELECT driver FROM compute_host WHERE id = %(like)s))
     ORDER BY {order}
     LIMIT 1 FOR NO KEY UPDATE {others}
), taken AS (
    UPDATE compute_host
       SET memory_used = memory_used + %(memory)s, vcpus_used = vcpus_used + %(vcpus)s,
           disk_used = disk_used + %(disk)s
     WHERE id = (SELECT id FROM chosen) AND {fits}
 RETURNING *
), reserved AS (
    INSERT INTO compute_reservation AS reserved (host_id, instance_id, memory, vcpus, disk)
    SELECT id, %(instance)s, %(memory)s, %(vcpus)s, %(disk)s FROM taken
    ON CONFLICT (instance_id, host_id) DO UPDATE
       SET memory = reserved.memory + excluded.memory, vcpus = reserved.vcpus + excluded.vcpus,
           disk = reserved.disk + excluded.disk
)
SELECT {columns} FROM taken

-- compute.services.hosts.placement._statement of the freest host
WITH chosen AS (
    SELECT id FROM compute_host
     WHERE region_id = %(region)s AND id IS DISTINCT FROM %(avoid)s::bigint AND unreachable_since IS NULL AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
       AND (%(image)s::text IS NULL OR images IS NULL OR %(image)s = ANY(images))
       AND (%(like)s::bigint IS NULL OR driver = (SELECT driver FROM compute_host WHERE id = %(like)s))
     ORDER BY
    LEAST(
        (memory - memory_used)::float8 / NULLIF(memory, 0), (vcpus - vcpus_used)::float8 / NULLIF(vcpus, 0),
        (disk - disk_used)::float8 / NULLIF(disk, 0)
    ) DESC, id

     LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE compute_host
       SET memory_used = memory_used + %(memory)s, vcpus_used = vcpus_used + %(vcpus)s,
           disk_used = disk_used + %(disk)s
     WHERE id = (SELECT id FROM chosen) AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
 RETURNING *
), reserved AS (
    INSERT INTO compute_reservation AS reserved (host_id, instance_id, memory, vcpus, disk)
    SELECT id, %(instance)s, %(memory)s, %(vcpus)s, %(disk)s FROM taken
    ON CONFLICT (instance_id, host_id) DO UPDATE
       SET memory = reserved.memory + excluded.memory, vcpus = reserved.vcpus + excluded.vcpus,
           disk = reserved.disk + excluded.disk
)
SELECT id, uuid, label, region_id, driver, location, shared, host_key, underlay, images, architectures, enabled, maintenance, memory, vcpus, disk, memory_used, vcpus_used, disk_used, unreachable_since, unreachable_error, reachable_since, probe_at, probe_lease, reconcile_at, created FROM taken

-- compute.services.hosts.placement._statement with hosts that do not answer
WITH chosen AS (
    SELECT id FROM compute_host
     WHERE region_id = %(region)s AND id IS DISTINCT FROM %(avoid)s::bigint AND TRUE AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
       AND (%(image)s::text IS NULL OR images IS NULL OR %(image)s = ANY(images))
       AND (%(like)s::bigint IS NULL OR driver = (SELECT driver FROM compute_host WHERE id = %(like)s))
     ORDER BY id
     LIMIT 1 FOR NO KEY UPDATE
), taken AS (
    UPDATE compute_host
       SET memory_used = memory_used + %(memory)s, vcpus_used = vcpus_used + %(vcpus)s,
           disk_used = disk_used + %(disk)s
     WHERE id = (SELECT id FROM chosen) AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
 RETURNING *
), reserved AS (
    INSERT INTO compute_reservation AS reserved (host_id, instance_id, memory, vcpus, disk)
    SELECT id, %(instance)s, %(memory)s, %(vcpus)s, %(disk)s FROM taken
    ON CONFLICT (instance_id, host_id) DO UPDATE
       SET memory = reserved.memory + excluded.memory, vcpus = reserved.vcpus + excluded.vcpus,
           disk = reserved.disk + excluded.disk
)
SELECT id, uuid, label, region_id, driver, location, shared, host_key, underlay, images, architectures, enabled, maintenance, memory, vcpus, disk, memory_used, vcpus_used, disk_used, unreachable_since, unreachable_error, reachable_since, probe_at, probe_lease, reconcile_at, created FROM taken

-- compute.services.hosts.placement._statement with hosts that others have locked
WITH chosen AS (
    SELECT id FROM compute_host
     WHERE region_id = %(region)s AND id IS DISTINCT FROM %(avoid)s::bigint AND unreachable_since IS NULL AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
       AND (%(image)s::text IS NULL OR images IS NULL OR %(image)s = ANY(images))
       AND (%(like)s::bigint IS NULL OR driver = (SELECT driver FROM compute_host WHERE id = %(like)s))
     ORDER BY id
     LIMIT 1 FOR NO KEY UPDATE
), taken AS (
    UPDATE compute_host
       SET memory_used = memory_used + %(memory)s, vcpus_used = vcpus_used + %(vcpus)s,
           disk_used = disk_used + %(disk)s
     WHERE id = (SELECT id FROM chosen) AND enabled AND maintenance IS NULL AND memory_used + %(memory)s <= memory AND vcpus_used + %(vcpus)s <= vcpus AND disk_used + %(disk)s <= disk
 RETURNING *
), reserved AS (
    INSERT INTO compute_reservation AS reserved (host_id, instance_id, memory, vcpus, disk)
    SELECT id, %(instance)s, %(memory)s, %(vcpus)s, %(disk)s FROM taken
    ON CONFLICT (instance_id, host_id) DO UPDATE
       SET memory = reserved.memory + excluded.memory, vcpus = reserved.vcpus + excluded.vcpus,
           disk = reserved.disk + excluded.disk
)
SELECT id, uuid, label, region_id, driver, location, shared, host_key, underlay, images, architectures, enabled, maintenance, memory, vcpus, disk, memory_used, vcpus_used, disk_used, unreachable_since, unreachable_error, reachable_since, probe_at, probe_lease, reconcile_at, created FROM taken

-- compute.services.hosts.probes._CLAIM
UPDATE compute_host SET probe_lease = statement_timestamp() + (%(lease)s)::float8 * interval '1 second'
 WHERE id = %(id)s AND (probe_at <= statement_timestamp() OR probe_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (probe_lease IS NULL OR (probe_lease <= statement_timestamp() OR probe_lease > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
   AND (unreachable_since IS NULL OR %(most)s > (
        SELECT count(*) FROM compute_host WHERE unreachable_since IS NOT NULL AND (probe_lease > statement_timestamp() AND probe_lease <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')))
RETURNING probe_lease

-- compute.services.hosts.probes._DUE
SELECT id FROM compute_host
 WHERE (probe_at <= statement_timestamp() OR probe_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (probe_lease IS NULL OR (probe_lease <= statement_timestamp() OR probe_lease > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND id <> ALL(%(added)s)
 ORDER BY probe_at, id

-- compute.services.hosts.probes._GIVE_BACK
UPDATE compute_host SET probe_lease = NULL, probe_at = statement_timestamp() + (%(every)s)::float8 * interval '1 second'
 WHERE id = %(id)s AND probe_lease = %(lease)s

-- compute.services.hosts.reachability._REACHABLE
WITH before AS (
    SELECT id, unreachable_since FROM compute_host
     WHERE uuid::text = %(host)s AND unreachable_since <= %(asked)s FOR NO KEY UPDATE
)
UPDATE compute_host AS host
   SET unreachable_since = NULL, unreachable_error = '', reachable_since = statement_timestamp(),
       reconcile_at = statement_timestamp()
  FROM before WHERE host.id = before.id
RETURNING host.label, statement_timestamp() - before.unreachable_since, host.maintenance IS NOT NULL

-- compute.services.hosts.reachability._UNREACHABLE
WITH before AS (
    SELECT id, unreachable_since FROM compute_host
     WHERE uuid::text = %(host)s AND (reachable_since IS NULL OR reachable_since <= %(asked)s)
       AND (unreachable_since IS NULL OR unreachable_error <> %(error)s)
       FOR NO KEY UPDATE
)
UPDATE compute_host AS host
   SET unreachable_since = COALESCE(host.unreachable_since, statement_timestamp()), unreachable_error = %(error)s
  FROM before WHERE host.id = before.id
RETURNING host.label, before.unreachable_since IS NULL AS begins, host.maintenance IS NOT NULL AS maintained

-- compute.services.instances.lookups._statement for the restricted
SELECT t.id, t.label, t.type_class, t.memory, t.disk, t.vcpus, t.gpus, t.transfer, t.network_out, t.price_hourly, t.price_monthly, t.backup_price_hourly, t.backup_price_monthly, t.successor_id, t.deprecated, t.position, r.id, r.country, r.capabilities, r.status, r.retired, r.resolvers_ipv4, r.resolvers_ipv6, r.position, i.id, i.number, i.account_id, i.label, i.vendor, i.description, i.size, i.is_public, i.deprecated, i.type, i.status, i.driver, i.created, i.updated, i.created_by, i.expiry, i.eol, i.position,
       EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk),
       r.id IS NULL OR i.id IS NULL
       OR EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND (i.account_id IS NULL AND (h.images IS NULL OR i.id = ANY(h.images)) OR i.account_id IS NOT NULL AND h.driver = i.driver)),
       (SELECT network FROM compute_addresspool p WHERE p.region_id = r.id AND p.kind = 'slaac'
         ORDER BY p.id LIMIT 1),
       a.backups_enabled, a.network_helper, NOT COALESCE(a.mail_ports_open, a.created <= %(mail_ports_closed_after)s), a.trust_level, a.quotas, l.limits
  FROM (SELECT %(type)s::text AS type, %(region)s::text AS region) AS asked
  JOIN accounts_account a ON a.id = %(actor.account_id)s
  LEFT JOIN accounts_trustlevel l ON l.id = a.trust_level
  LEFT JOIN compute_instancetype t ON t.id = asked.type
  LEFT JOIN regions_region r ON r.id = asked.region
  LEFT JOIN (SELECT "compute_image"."id" AS "id", "compute_image"."number" AS "number", "compute_image"."account_id" AS "account_id", "compute_image"."label" AS "label", "compute_image"."vendor" AS "vendor", "compute_image"."description" AS "description", "compute_image"."size" AS "size", "compute_image"."is_public" AS "is_public", "compute_image"."deprecated" AS "deprecated", "compute_image"."type" AS "type", "compute_image"."status" AS "status", "compute_image"."driver" AS "driver", "compute_image"."created" AS "created", "compute_image"."updated" AS "updated", "compute_image"."created_by" AS "created_by", "compute_image"."expiry" AS "expiry", "compute_image"."eol" AS "eol", "compute_image"."position" AS "position" FROM "compute_image" WHERE (NOT ("compute_image"."status" = %(constant0)s) AND ("compute_image"."is_public" OR ("compute_image"."account_id" = (%(actor.account_id)s) AND EXISTS(SELECT %(constant2)s AS "a" FROM "accounts_grant" U0 WHERE (U0."user_id" = (%(actor.user_id)s) AND U0."entity_id" = ("compute_image"."number") AND U0."entity_type" = %(constant4)s) LIMIT 1))) AND "compute_image"."id" = (%(image)s))) i ON TRUE

-- compute.services.instances.lookups._statement for the unrestricted
SELECT t.id, t.label, t.type_class, t.memory, t.disk, t.vcpus, t.gpus, t.transfer, t.network_out, t.price_hourly, t.price_monthly, t.backup_price_hourly, t.backup_price_monthly, t.successor_id, t.deprecated, t.position, r.id, r.country, r.capabilities, r.status, r.retired, r.resolvers_ipv4, r.resolvers_ipv6, r.position, i.id, i.number, i.account_id, i.label, i.vendor, i.description, i.size, i.is_public, i.deprecated, i.type, i.status, i.driver, i.created, i.updated, i.created_by, i.expiry, i.eol, i.position,
       EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk),
       r.id IS NULL OR i.id IS NULL
       OR EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND (i.account_id IS NULL AND (h.images IS NULL OR i.id = ANY(h.images)) OR i.account_id IS NOT NULL AND h.driver = i.driver)),
       (SELECT network FROM compute_addresspool p WHERE p.region_id = r.id AND p.kind = 'slaac'
         ORDER BY p.id LIMIT 1),
       a.backups_enabled, a.network_helper, NOT COALESCE(a.mail_ports_open, a.created <= %(mail_ports_closed_after)s), a.trust_level, a.quotas, l.limits
  FROM (SELECT %(type)s::text AS type, %(region)s::text AS region) AS asked
  JOIN accounts_account a ON a.id = %(actor.account_id)s
  LEFT JOIN accounts_trustlevel l ON l.id = a.trust_level
  LEFT JOIN compute_instancetype t ON t.id = asked.type
  LEFT JOIN regions_region r ON r.id = asked.region
  LEFT JOIN (SELECT "compute_image"."id" AS "id", "compute_image"."number" AS "number", "compute_image"."account_id" AS "account_id", "compute_image"."label" AS "label", "compute_image"."vendor" AS "vendor", "compute_image"."description" AS "description", "compute_image"."size" AS "size", "compute_image"."is_public" AS "is_public", "compute_image"."deprecated" AS "deprecated", "compute_image"."type" AS "type", "compute_image"."status" AS "status", "compute_image"."driver" AS "driver", "compute_image"."created" AS "created", "compute_image"."updated" AS "updated", "compute_image"."created_by" AS "created_by", "compute_image"."expiry" AS "expiry", "compute_image"."eol" AS "eol", "compute_image"."position" AS "position" FROM "compute_image" WHERE (NOT ("compute_image"."status" = %(constant0)s) AND ("compute_image"."is_public" OR "compute_image"."account_id" = (%(actor.account_id)s)) AND "compute_image"."id" = (%(image)s))) i ON TRUE

-- compute.services.instances.offers._rooms
SELECT r.id,
       EXISTS (SELECT FROM compute_instancetype t WHERE NOT t.deprecated AND EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk)),
       EXISTS (SELECT FROM compute_instancetype t WHERE t.id = %(type)s::text AND EXISTS (SELECT FROM compute_host h WHERE h.region_id = r.id AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk))
  FROM regions_region r

-- compute.services.instances.offers._taken
SELECT ARRAY(SELECT t.id FROM compute_instancetype t
              WHERE EXISTS (SELECT FROM compute_host h WHERE h.region_id = %(region)s AND enabled AND maintenance IS NULL AND memory_used + t.memory <= memory AND vcpus_used + t.vcpus <= vcpus AND disk_used + t.disk <= disk)),
       ARRAY(SELECT i.id FROM compute_image i
              WHERE i.id = ANY(%(images)s)
                AND EXISTS (SELECT FROM compute_host h WHERE h.region_id = %(region)s AND (i.account_id IS NULL AND (h.images IS NULL OR i.id = ANY(h.images)) OR i.account_id IS NOT NULL AND h.driver = i.driver)))

-- compute.services.networking.addresses._FOR_INSTANCE
UPDATE compute_address SET instance_id = %(holder)s
 WHERE id = (
    SELECT id FROM compute_address
     WHERE region_id = %(region)s AND public = %(public)s AND instance_id IS NULL AND nodebalancer_id IS NULL
     ORDER BY released ASC NULLS FIRST, id
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING address

-- compute.services.networking.addresses._FOR_NODEBALANCER
UPDATE compute_address SET nodebalancer_id = %(holder)s
 WHERE id = (
    SELECT id FROM compute_address
     WHERE region_id = %(region)s AND public = %(public)s AND instance_id IS NULL AND nodebalancer_id IS NULL
     ORDER BY released ASC NULLS FIRST, id
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING address

-- compute.services.networking.addresses._LIST
UPDATE compute_instance SET updated = statement_timestamp(), ipv4 = ARRAY(
    SELECT host(a.address) FROM compute_address a
     WHERE a.instance_id = compute_instance.id AND a.region_id = compute_instance.region_id
     ORDER BY a.public DESC, array_position(compute_instance.ipv4, host(a.address)::varchar), a.id)
 WHERE id = ANY(%s)

-- compute.services.networking.addresses._TAKE
UPDATE compute_address SET {column} = %(holder)s
 WHERE id = (
    SELECT id FROM compute_address
     WHERE region_id = %(region)s AND public = %(public)s AND instance_id IS NULL AND nodebalancer_id IS NULL
     ORDER BY released ASC NULLS FIRST, id
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING address

-- compute.services.networking.firewalls.delivery._CHANGED
INSERT INTO compute_packetfilter AS f (instance_id, wanted, mail_ports_closed)
SELECT id, 1, COALESCE(%(closed)s::boolean, FALSE) FROM unnest(%(ids)s::bigint[]) AS id ORDER BY id
ON CONFLICT (instance_id) DO UPDATE
   SET wanted = f.wanted + 1, mail_ports_closed = COALESCE(%(closed)s::boolean, f.mail_ports_closed),
       run_at = statement_timestamp(), notified_at = NULL, attempt = 0,
       changed = CASE WHEN f.applied < f.wanted THEN f.changed ELSE statement_timestamp() END

-- compute.services.networking.firewalls.delivery._CLAIM
UPDATE compute_packetfilter SET lease_until = statement_timestamp() + (%(lease)s)::float8 * interval '1 second', fence = fence + 1, attempt = attempt + 1
 WHERE instance_id = %(id)s AND applied < wanted AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND NOT EXISTS (
    SELECT FROM compute_instance JOIN compute_host ON compute_host.id = compute_instance.host_id
     WHERE compute_instance.id = compute_packetfilter.instance_id AND compute_host.unreachable_since IS NOT NULL)
RETURNING instance_id, fence, attempt, statement_timestamp()

-- compute.services.networking.firewalls.delivery._DUE
UPDATE compute_packetfilter SET notified_at = statement_timestamp() WHERE instance_id = ANY(ARRAY(
SELECT instance_id FROM compute_packetfilter
 WHERE applied < wanted AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND (notified_at IS NULL OR notified_at <= statement_timestamp() + (-%(patience)s::float8)::float8 * interval '1 second' OR notified_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND NOT EXISTS (
    SELECT FROM compute_instance JOIN compute_host ON compute_host.id = compute_instance.host_id
     WHERE compute_instance.id = compute_packetfilter.instance_id AND compute_host.unreachable_since IS NOT NULL)
 ORDER BY run_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
))
RETURNING instance_id

-- compute.services.networking.firewalls.delivery._POSTPONE
UPDATE compute_packetfilter
   SET lease_until = NULL, error = %(error)s, notified_at = NULL,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE statement_timestamp() + (%(delay)s)::float8 * interval '1 second' END
 WHERE instance_id = %(id)s AND fence = %(fence)s

-- compute.services.networking.firewalls.delivery._SETTLE
UPDATE compute_packetfilter
   SET applied = CASE WHEN %(applied)s > wanted THEN applied ELSE GREATEST(applied, %(applied)s) END,
       wanted = CASE WHEN %(applied)s > wanted THEN %(applied)s + 1 ELSE wanted END,
       confirmed = statement_timestamp(), lease_until = NULL, attempt = 0, error = '',
       changed = CASE WHEN %(applied)s = wanted THEN changed ELSE statement_timestamp() END
 WHERE instance_id = %(id)s AND fence = %(fence)s
RETURNING applied < wanted

-- compute.services.networking.firewalls.delivery._TO_NOTIFY
SELECT instance_id FROM compute_packetfilter
 WHERE applied < wanted AND (run_at <= statement_timestamp() OR run_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND (lease_until IS NULL OR (lease_until <= statement_timestamp() OR lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')) AND (notified_at IS NULL OR notified_at <= statement_timestamp() + (-%(patience)s::float8)::float8 * interval '1 second' OR notified_at > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') AND NOT EXISTS (
    SELECT FROM compute_instance JOIN compute_host ON compute_host.id = compute_instance.host_id
     WHERE compute_instance.id = compute_packetfilter.instance_id AND compute_host.unreachable_since IS NOT NULL)
 ORDER BY run_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED

-- compute.services.networking.pools.FILL_POOL
INSERT INTO compute_address (pool_id, region_id, address, prefix, gateway, public)
SELECT %(pool)s, %(region)s, %(network)s::inet + host, %(prefix)s, %(gateway)s::inet, %(public)s
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS host
WHERE %(network)s::inet + host <> %(gateway)s::inet
ON CONFLICT (address) DO NOTHING

-- compute.services.networking.pools.check_pool
LOCK TABLE compute_addresspool IN SHARE ROW EXCLUSIVE MODE

-- compute.services.networking.ranges._LOWEST
WITH taken AS (
    SELECT NULL::inet AS first, NULL::inet AS last
     UNION ALL
    SELECT range, host(broadcast(set_masklen(range, prefix)))::inet
      FROM compute_ipv6range WHERE pool_id = %(pool)s
), gaps AS (
    SELECT CASE WHEN last IS NULL THEN host(network(%(network)s::inet))::inet
                WHEN last >= host(broadcast(%(network)s::inet))::inet THEN NULL
                WHEN last = host(broadcast(set_masklen(last, %(prefix)s::int)))::inet THEN last + 1
                ELSE host(broadcast(set_masklen(last, %(prefix)s::int)))::inet + 1 END AS start,
           lead(first) OVER (ORDER BY first NULLS FIRST) AS following
      FROM taken
)
SELECT host(start) FROM gaps
 WHERE set_masklen(start, %(prefix)s::int) <<= %(network)s::inet
   AND (following IS NULL OR following > host(broadcast(set_masklen(start, %(prefix)s::int)))::inet)
 ORDER BY start LIMIT 1

-- compute.services.seed.seed
LOCK TABLE {SeededRow._meta.db_table} IN SHARE ROW EXCLUSIVE MODE

-- compute.services.stats.alerts._INSERT
INSERT INTO compute_alert (instance_id, metric, value, threshold, raised)
VALUES (%s, %s, %s, %s, statement_timestamp())
ON CONFLICT (instance_id, metric) WHERE cleared IS NULL DO NOTHING
RETURNING id

-- compute.services.stats.alerts._STANDING
WITH used AS (
    SELECT instance_id, sum(cpu) / %(samples)s AS cpu, sum(io) / %(samples)s AS io,
           sum(v4_in + v6_in) / %(samples)s / 1e6 AS network_in,
           sum(v4_out + v6_out) / %(samples)s / 1e6 AS network_out
      FROM compute_sample WHERE span = 300 AND at >= %(since)s AND at < %(until)s
     GROUP BY instance_id
), standing AS (
    SELECT i.id, m.metric, COALESCE(m.value, 0)::float8 AS value, m.threshold,
           m.threshold > 0 AND COALESCE(m.value, 0) > m.threshold AS above
      FROM compute_instance i
      JOIN compute_instancetype t ON t.id = i.type_id
      LEFT JOIN used u ON u.instance_id = i.id
      LEFT JOIN compute_transfer q ON q.instance_id = i.id AND q.month = %(month)s
     CROSS JOIN LATERAL (VALUES
           ('cpu', u.cpu, i.alert_cpu), ('io', u.io, i.alert_io), ('network_in', u.network_in, i.alert_network_in),
           ('network_out', u.network_out, i.alert_network_out),
           ('transfer_quota', 100.0 * q.sent / NULLIF(t.transfer * 1e9, 0), i.alert_transfer_quota)
         ) AS m (metric, value, threshold)
)
SELECT s.id, s.metric, s.value, s.threshold, a.id
  FROM standing s
  LEFT JOIN compute_alert a ON a.instance_id = s.id AND a.metric = s.metric AND a.cleared IS NULL
 WHERE s.above <> (a.id IS NOT NULL)
 ORDER BY s.id, s.metric

-- compute.services.stats.sampling._THIN
INSERT INTO compute_sample (instance_id, span, at, {columns})
SELECT instance_id, %(wide)s, to_timestamp(floor(extract(epoch FROM at) / %(wide)s) * %(wide)s), {averages}
  FROM compute_sample
 WHERE span = %(narrow)s AND at >= %(since)s AND at < %(until)s
 GROUP BY instance_id, 3
ON CONFLICT (instance_id, span, at) DO NOTHING

-- compute.services.usage.export._WITH_USAGE
SELECT a.id, a.euuid, a.company
  FROM accounts_account a
 WHERE a.id > %(after)s AND (%(last)s::bigint IS NULL OR a.id = %(last)s)
   AND (EXISTS (SELECT FROM compute_usagestatement s WHERE s.account_id = a.id AND s.month = %(month)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended IS NULL AND u.started < %(until)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended > %(since)s AND u.ended > u.started
                   AND u.started < %(until)s OFFSET 0))
 ORDER BY a.id
 LIMIT %(limit)s

-- compute.services.usage.recording._BEGIN
WITH plan AS (
    SELECT * FROM compute_instancetype WHERE id = %(type)s
), begun AS (
    INSERT INTO compute_usageinterval
        (account_id, kind, resource, label, region, type, quantity, price_hourly, price_monthly, counts, started)
    SELECT %(account)s, 'compute', %(instance)s, %(label)s, %(region)s, id, 1,
           price_hourly::text::numeric, price_monthly::text::numeric,
           jsonb_build_object('instances', 1, 'vcpus', vcpus, 'memory', memory, 'gpus', gpus, 'disk', disk), %(at)s
      FROM plan
     UNION ALL
    SELECT %(account)s, 'compute_backups', %(instance)s, %(label)s, %(region)s, id, 1,
           COALESCE(backup_price_hourly, 0)::text::numeric, backup_price_monthly::text::numeric, '{}', %(at)s
      FROM plan WHERE %(backups)s
)
INSERT INTO accounts_resourceuse AS used (account_id, instances, vcpus, memory, gpus, disk)
SELECT %(account)s, 1, vcpus, memory, gpus, disk FROM plan
ON CONFLICT (account_id) DO UPDATE
   SET instances = used.instances + 1, vcpus = used.vcpus + excluded.vcpus, memory = used.memory + excluded.memory,
       gpus = used.gpus + excluded.gpus, disk = used.disk + excluded.disk
 WHERE NOT used.closed
RETURNING instances, vcpus, memory, gpus, disk

-- compute.services.usage.reports._ALL
WITH pieces AS (
    SELECT month, kind, resource, label, region, type, price_hourly, price_monthly, started, quantity,
           EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins)) AS seconds
      FROM compute_usageinterval JOIN
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends) ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
),
metered AS (
    SELECT month, kind, resource, (array_agg(label ORDER BY started DESC))[1] AS label, region, type,
           round(sum(seconds) / 3600, 6) AS hours, round(sum(quantity * seconds) / 3600, 6) AS quantity_hours,
           price_hourly, price_monthly, max(started) AS latest
      FROM pieces GROUP BY resource, month, kind, region, type, price_hourly, price_monthly
     UNION ALL
    SELECT month, 'transfer', %(account)s, '', '', '', 0, gigabytes,
           COALESCE((SELECT each FROM compute_resourceprice WHERE id = 'transfer'), 0), NULL, NULL
      FROM unnest(%(transfer_months)s::date[], %(gigabytes)s::numeric[]) AS beyond (month, gigabytes)
),
lines AS (
    SELECT *, round(quantity_hours * LEAST(price_hourly, price_monthly / NULLIF(hours, 0)), 4) AS amount
      FROM metered WHERE quantity_hours > 0
)

SELECT month, kind, resource, label, region, type, hours, quantity_hours, price_hourly, price_monthly, amount
  FROM lines ORDER BY month, kind, resource, latest, region, type, price_hourly, price_monthly

-- compute.services.usage.reports._BY_KIND
WITH pieces AS (
    SELECT month, kind, resource, label, region, type, price_hourly, price_monthly, started, quantity,
           EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins)) AS seconds
      FROM compute_usageinterval JOIN
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends) ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
),
metered AS (
    SELECT month, kind, resource, (array_agg(label ORDER BY started DESC))[1] AS label, region, type,
           round(sum(seconds) / 3600, 6) AS hours, round(sum(quantity * seconds) / 3600, 6) AS quantity_hours,
           price_hourly, price_monthly, max(started) AS latest
      FROM pieces GROUP BY resource, month, kind, region, type, price_hourly, price_monthly
     UNION ALL
    SELECT month, 'transfer', %(account)s, '', '', '', 0, gigabytes,
           COALESCE((SELECT each FROM compute_resourceprice WHERE id = 'transfer'), 0), NULL, NULL
      FROM unnest(%(transfer_months)s::date[], %(gigabytes)s::numeric[]) AS beyond (month, gigabytes)
),
lines AS (
    SELECT *, round(quantity_hours * LEAST(price_hourly, price_monthly / NULLIF(hours, 0)), 4) AS amount
      FROM metered WHERE quantity_hours > 0
)

SELECT kind, NULL, NULL, NULL, NULL, sum(hours), sum(quantity_hours), sum(amount)
  FROM lines GROUP BY kind ORDER BY kind

-- compute.services.usage.reports._BY_RESOURCE
WITH pieces AS (
    SELECT month, kind, resource, label, region, type, price_hourly, price_monthly, started, quantity,
           EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins)) AS seconds
      FROM compute_usageinterval JOIN
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends) ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
),
metered AS (
    SELECT month, kind, resource, (array_agg(label ORDER BY started DESC))[1] AS label, region, type,
           round(sum(seconds) / 3600, 6) AS hours, round(sum(quantity * seconds) / 3600, 6) AS quantity_hours,
           price_hourly, price_monthly, max(started) AS latest
      FROM pieces GROUP BY resource, month, kind, region, type, price_hourly, price_monthly
     UNION ALL
    SELECT month, 'transfer', %(account)s, '', '', '', 0, gigabytes,
           COALESCE((SELECT each FROM compute_resourceprice WHERE id = 'transfer'), 0), NULL, NULL
      FROM unnest(%(transfer_months)s::date[], %(gigabytes)s::numeric[]) AS beyond (month, gigabytes)
),
lines AS (
    SELECT *, round(quantity_hours * LEAST(price_hourly, price_monthly / NULLIF(hours, 0)), 4) AS amount
      FROM metered WHERE quantity_hours > 0
)
,
resources AS (
    SELECT kind, resource, (array_agg(label ORDER BY latest DESC))[1], (array_agg(region ORDER BY latest DESC))[1],
           (array_agg(type ORDER BY latest DESC))[1], sum(hours), sum(quantity_hours), sum(amount) AS amount
      FROM lines GROUP BY resource, kind
)
SELECT totals.total, totals.count, page.*
  FROM (SELECT COALESCE(sum(amount), 0) AS total, count(*) AS count FROM resources) totals
  LEFT JOIN (SELECT * FROM resources ORDER BY amount DESC, kind, resource LIMIT %(limit)s OFFSET %(offset)s) page
       ON TRUE
 ORDER BY page.amount DESC, page.kind, page.resource

-- compute.services.usage.reports._LINES
WITH pieces AS (
    SELECT month, kind, resource, label, region, type, price_hourly, price_monthly, started, quantity,
           EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins)) AS seconds
      FROM compute_usageinterval JOIN
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends) ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
),
metered AS (
    SELECT month, kind, resource, (array_agg(label ORDER BY started DESC))[1] AS label, region, type,
           round(sum(seconds) / 3600, 6) AS hours, round(sum(quantity * seconds) / 3600, 6) AS quantity_hours,
           price_hourly, price_monthly, max(started) AS latest
      FROM pieces GROUP BY resource, month, kind, region, type, price_hourly, price_monthly
     UNION ALL
    SELECT month, 'transfer', %(account)s, '', '', '', 0, gigabytes,
           COALESCE((SELECT each FROM compute_resourceprice WHERE id = 'transfer'), 0), NULL, NULL
      FROM unnest(%(transfer_months)s::date[], %(gigabytes)s::numeric[]) AS beyond (month, gigabytes)
),
lines AS (
    SELECT *, round(quantity_hours * LEAST(price_hourly, price_monthly / NULLIF(hours, 0)), 4) AS amount
      FROM metered WHERE quantity_hours > 0
)

-- compute.services.usage.statements._DUE
SELECT a.id
  FROM accounts_account a
 WHERE a.id > %(after)s
   AND NOT EXISTS (SELECT FROM compute_usagestatement s WHERE s.account_id = a.id AND s.month = %(month)s)
   AND (EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended IS NULL AND u.started < %(until)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended > u.started AND u.started < %(until)s
                   AND u.ended > COALESCE(
                       (SELECT (max(s.month) + interval '1 month') AT TIME ZONE 'UTC'
                          FROM compute_usagestatement s WHERE s.account_id = a.id), '-infinity') OFFSET 0))
 ORDER BY a.id
 LIMIT %(limit)s

-- compute.services.usage.transfer._POOLS
WITH instances AS (
    SELECT month, begins, ends, (array_agg(type ORDER BY started DESC))[1] AS type,
           sum(EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins))) AS seconds
      FROM compute_usageinterval JOIN
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends) ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND kind = 'compute'
       AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
     GROUP BY month, begins, ends, resource
)
SELECT month, COALESCE(sum(round(transfer * seconds / EXTRACT(epoch FROM ends - begins))), 0)::bigint
  FROM instances LEFT JOIN compute_instancetype ON id = type
 GROUP BY month

-- compute.worker.steps.basic._PROFILE
SELECT c.kernel_id, c.root_device, c.run_level, c.virt_mode, c.memory_limit, c.helpers, c.interfaces, c.rescue,
       i.ipv4, i.ipv6, t.memory, t.network_out,
       ARRAY(SELECT d.slot FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       ARRAY(SELECT d.disk_id FROM compute_configdevice d WHERE d.config_id = c.id ORDER BY d.slot),
       (SELECT jsonb_agg(jsonb_build_array(
                   d.slot, v.id, v.label, v.instance_id = i.id,
                   v.status <> 'creating' AND NOT EXISTS (
                       SELECT FROM compute_job j
                        WHERE j.volume_id = v.id AND j.kind = 'volume_detach' AND j.finished_at IS NULL)
               ) ORDER BY d.slot)
          FROM compute_volumedevice d JOIN compute_volume v ON v.id = d.volume_id WHERE d.config_id = c.id),
       (SELECT jsonb_object_agg(n.label, n.id)
          FROM compute_vlan n WHERE n.account_id = i.account_id AND n.region_id = i.region_id),
       ARRAY(SELECT host(r.range) || '/' || r.prefix
               FROM compute_ipv6range r WHERE r.instance_id = i.id AND r.kind = 'range' ORDER BY r.range),
       g.resolvers_ipv4 || ',' || g.resolvers_ipv6
  FROM compute_config c
  JOIN compute_instance i ON i.id = c.instance_id
  JOIN compute_instancetype t ON t.id = i.type_id
  JOIN regions_region g ON g.id = i.region_id
 WHERE c.id = %s AND c.instance_id = %s

-- config.api.documents.healthz
SELECT 1

-- config.db.advisory.WITHOUT_SNAPSHOT
SET LOCAL idle_in_transaction_session_timeout = 0

-- config.db.advisory.advisory_lock.take
SELECT pg_try_advisory_xact_lock(%s)

-- config.db.clock.database_now
SELECT clock_timestamp()

-- config.db.connections.SET_UP
SELECT pg_backend_pid(), set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       CASE WHEN %(lock)s::text IS NOT NULL AND pg_backend_pid() = %(session)s::int
            THEN set_config('lock_timeout', %(lock)s::text, false) END

-- config.db.fresh_database.create_tables
SELECT pg_advisory_xact_lock(%s)

-- config.db.postgresql.base.END_SESSION
SELECT pg_terminate_backend(pid, %s)
  FROM pg_stat_activity
 WHERE backend_xid = %s::xid8::xid AND datname = current_database()

-- config.db.postgresql.base.STATUS
SELECT pg_xact_status(%s::xid8)

-- config.db.prepared._LIMIT
SELECT set_config('statement_timeout', %s, true)

-- config.db.prepared._NO_LIMIT
SET LOCAL statement_timeout TO DEFAULT

-- config.laptop.embedded.postgres.Postgres._ensure_database
select 1 from pg_database where datname = %s

-- config.laptop.embedded.postgres.Postgres._ensure_database (2)
create database {DATABASE}

-- config.monitoring.health.MISSING
SELECT wanted.app || '.' || wanted.name
  FROM unnest(%s::text[], %s::text[]) AS wanted (app, name)
 WHERE NOT EXISTS (
    SELECT FROM django_migrations AS done WHERE done.app = wanted.app AND done.name = wanted.name)

-- managed.services.compute_settings._FORGET
UPDATE managed_computesettings s SET ip = %(any)s, "user" = NULL, port = NULL
  FROM compute_instance i
 WHERE s.instance_id = i.id AND i.id = ANY(%(ids)s)
   AND s.ip NOT IN (%(any)s, COALESCE(split_part(i.ipv6, '/', 1), '')) AND NOT s.ip = ANY(i.ipv4)

-- managed.services.probing._CLAIM
UPDATE managed_service SET lease_until = statement_timestamp() + (timeout + %(margin)s)::float8 * interval '1 second', fence = fence + 1 WHERE id = ANY(ARRAY(
WITH busy AS (
    SELECT account_id, count(*) AS checks FROM managed_service WHERE (lease_until > statement_timestamp() AND lease_until <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') GROUP BY account_id),
queue AS MATERIALIZED (
    SELECT d.id, COALESCE(busy.checks, 0)
           + row_number() OVER (PARTITION BY d.account_id ORDER BY d.next_check_at, d.id) AS place
      FROM managed_service d
      JOIN accounts_account a ON a.id = d.account_id AND a.is_active AND a.managed
      LEFT JOIN busy ON busy.account_id = d.account_id
     WHERE d.status <> 'disabled' AND (d.next_check_at <= statement_timestamp() OR d.next_check_at > statement_timestamp() + (%(late)s)::float8 * interval '1 second')
       AND (d.lease_until IS NULL OR (d.lease_until <= statement_timestamp() OR d.lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')))
SELECT d.id FROM managed_service d JOIN queue ON queue.id = d.id AND queue.place <= %(share)s
 WHERE d.status <> 'disabled' AND (d.next_check_at <= statement_timestamp() OR d.next_check_at > statement_timestamp() + (%(late)s)::float8 * interval '1 second')
       AND (d.lease_until IS NULL OR (d.lease_until <= statement_timestamp() OR d.lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY d.next_check_at LIMIT %(most)s FOR NO KEY UPDATE OF d SKIP LOCKED
))
RETURNING id, account_id, fence, statement_timestamp(), service_type, address, COALESCE(body, ''),
          timeout, region_id IS NOT NULL

-- managed.services.probing._QUEUE
WITH busy AS (
    SELECT account_id, count(*) AS checks FROM managed_service WHERE (lease_until > statement_timestamp() AND lease_until <= statement_timestamp() + (%(horizon)s)::float8 * interval '1 second') GROUP BY account_id),
queue AS MATERIALIZED (
    SELECT d.id, COALESCE(busy.checks, 0)
           + row_number() OVER (PARTITION BY d.account_id ORDER BY d.next_check_at, d.id) AS place
      FROM managed_service d
      JOIN accounts_account a ON a.id = d.account_id AND a.is_active AND a.managed
      LEFT JOIN busy ON busy.account_id = d.account_id
     WHERE d.status <> 'disabled' AND (d.next_check_at <= statement_timestamp() OR d.next_check_at > statement_timestamp() + (%(late)s)::float8 * interval '1 second')
       AND (d.lease_until IS NULL OR (d.lease_until <= statement_timestamp() OR d.lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second')))
SELECT d.id FROM managed_service d JOIN queue ON queue.id = d.id AND queue.place <= %(share)s
 WHERE d.status <> 'disabled' AND (d.next_check_at <= statement_timestamp() OR d.next_check_at > statement_timestamp() + (%(late)s)::float8 * interval '1 second')
       AND (d.lease_until IS NULL OR (d.lease_until <= statement_timestamp() OR d.lease_until > statement_timestamp() + (%(horizon)s)::float8 * interval '1 second'))
 ORDER BY d.next_check_at LIMIT %(most)s FOR NO KEY UPDATE OF d SKIP LOCKED

-- managed.services.probing._RELEASE
UPDATE managed_service s SET lease_until = NULL
  FROM unnest(%(ids)s::bigint[], %(fences)s::bigint[]) AS mine (id, fence)
 WHERE s.id = mine.id AND s.fence = mine.fence

-- managed.services.probing._SUPERSEDED
SELECT mine.place FROM unnest(%(ids)s::bigint[], %(fences)s::bigint[]) WITH ORDINALITY AS mine (id, fence, place)
  LEFT JOIN managed_service s ON s.id = mine.id AND s.fence = mine.fence
 WHERE s.id IS NULL

-- managed.services.probing._THIN
WITH kept AS MATERIALIZED (SELECT id FROM managed_service FOR KEY SHARE SKIP LOCKED)
INSERT INTO managed_measurement (service_id, span, at, checks, failed, milliseconds)
SELECT m.service_id, %(hour)s, date_trunc('hour', m.at, 'UTC'), sum(m.checks), sum(m.failed), avg(m.milliseconds)
  FROM kept s
 CROSS JOIN LATERAL (
    SELECT max(at) AS at FROM managed_measurement WHERE service_id = s.id AND span = %(hour)s) last
  JOIN managed_measurement m ON m.service_id = s.id AND m.span = 0 AND m.at < %(until)s
       AND m.at >= COALESCE(last.at + interval '1 hour', '-infinity')
 GROUP BY m.service_id, 3
ON CONFLICT (service_id, span, at) DO NOTHING

-- managed.services.probing._clock
SELECT statement_timestamp()

-- managed.services.probing.settle
SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'

-- tags.services._LOCK_AND_READ_QUOTAS
SELECT quotas, pg_advisory_xact_lock(hashtextextended('tags of account ' || id, 0))
  FROM accounts_account WHERE id = %s

-- tags.services._LOCK_LABELS
SELECT label, id FROM tags_tag WHERE account_id = %s AND label = ANY(%s) ORDER BY label FOR KEY SHARE
