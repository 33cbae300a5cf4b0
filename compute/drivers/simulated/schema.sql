-- The simulated hypervisor: its tables, and one function for each call of the driver interface.
--
-- The calls are functions so that each is one round trip that first locks the machine's row and then reads, with
-- a fresh snapshot, all it decides on: two workers that call at once are served one after the other. They answer
-- instead of raising, since an exception would take back the counting of faults.
--
-- Tables only ever gain columns here (ADD COLUMN IF NOT EXISTS), as machines outlive versions; types and
-- functions are made anew whenever this text changes.

CREATE SCHEMA IF NOT EXISTS simulated;

-- `power` is what was last asked for, and takes hold at `settles_at`: until then the machine boots or shuts down.
-- `halts_at` is when the guest powers itself off.
CREATE TABLE IF NOT EXISTS simulated.machine (
    name text PRIMARY KEY,
    host text NOT NULL,
    memory integer NOT NULL,
    vcpus integer NOT NULL,
    mac text NOT NULL,
    power text NOT NULL DEFAULT 'off' CHECK (power IN ('on', 'off')),
    began_at timestamptz NOT NULL DEFAULT now(),
    settles_at timestamptz NOT NULL DEFAULT now(),
    halts_at timestamptz,
    boot jsonb,
    boots integer NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS machine_host ON simulated.machine (host);

-- `root_hash` and `fingerprints` are what a guest's /etc/shadow and authorized_keys would tell.
CREATE TABLE IF NOT EXISTS simulated.disk (
    machine text NOT NULL REFERENCES simulated.machine ON DELETE CASCADE,
    name text NOT NULL,
    size integer NOT NULL,
    filesystem text NOT NULL,
    image text,
    root_hash text,
    fingerprints text[] NOT NULL DEFAULT '{}',
    began_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    PRIMARY KEY (machine, name)
);

-- `used` is how much the files on a disk need, in MB; `script_digest` what its first boot was told to run.
ALTER TABLE simulated.disk ADD COLUMN IF NOT EXISTS used integer NOT NULL DEFAULT 0;
ALTER TABLE simulated.disk ADD COLUMN IF NOT EXISTS script_digest text;

-- While `moving_to` is set the machine is on its way there, from `began_at` to `moved_by`. `was_on` is for how many
-- seconds it was on before its present boot.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS moving_to text;
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS moved_by timestamptz;
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS was_on double precision NOT NULL DEFAULT 0;

-- What its host filters a machine by, and the number of that.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS firewall text NOT NULL DEFAULT '';
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS firewall_version bigint NOT NULL DEFAULT 0;

-- Contents of disks, kept apart from any machine.
CREATE TABLE IF NOT EXISTS simulated.archive (
    name text PRIMARY KEY,
    used integer NOT NULL,
    root_hash text,
    fingerprints text[] NOT NULL DEFAULT '{}',
    script_digest text,
    began_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL
);

-- Disks of no machine; `size` in GB, `used` in MB. One is made from `began_at` to `ready_at`, and grows, in use or not,
-- from `growing_at` to `grown_at`. `plugged` of a machine that is on has the volumes it has, with their labels.
CREATE TABLE IF NOT EXISTS simulated.volume (
    name text PRIMARY KEY,
    region text NOT NULL,
    size integer NOT NULL,
    hardware text NOT NULL,
    used integer NOT NULL,
    began_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,
    growing_at timestamptz,
    grown_at timestamptz
);
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS plugged jsonb NOT NULL DEFAULT '{}';

-- The script of faults. One acts from its `nth` matching call on, `count` times or (null) for ever. Null in
-- `call`, `machine` (a LIKE pattern) or `host` matches any.
CREATE TABLE IF NOT EXISTS simulated.fault (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action text NOT NULL,
    call text,
    machine text,
    host text,
    nth integer NOT NULL,
    count integer,
    amount double precision,
    hits integer NOT NULL DEFAULT 0
);

-- Filled only while a fault of action `trace` is there.
CREATE TABLE IF NOT EXISTS simulated.call (
    machine text NOT NULL,
    call text NOT NULL,
    count integer NOT NULL,
    PRIMARY KEY (machine, call)
);

DO $$
DECLARE
    old regprocedure;
BEGIN
    FOR old IN SELECT oid FROM pg_proc WHERE pronamespace = 'simulated'::regnamespace LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old);
    END LOOP;
END $$;
DROP TYPE IF EXISTS simulated.answer;

-- `outcome` is ok, crash_after (ok, then the caller dies), or a blocked call's fail, refuse or crash.
CREATE TYPE simulated.answer AS (
    outcome text, detail text, percent integer, wait double precision, names text[], rate double precision
);

CREATE FUNCTION simulated.is_off(m simulated.machine, at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT m.power = 'off' AND m.settles_at <= at OR m.power = 'on' AND coalesce(m.halts_at <= at, false)
$$;

-- For how many seconds the machine has been on since it was defined.
CREATE FUNCTION simulated.been_on(m simulated.machine, at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT m.was_on + CASE WHEN m.power = 'on'
        THEN greatest(0, extract(epoch FROM least(at, m.halts_at) - m.began_at)) ELSE 0 END
$$;

CREATE FUNCTION simulated.simply(outcome text, detail text DEFAULT NULL, names text[] DEFAULT NULL)
RETURNS simulated.answer LANGUAGE sql IMMUTABLE AS $$
    SELECT outcome, detail, 100, 0::double precision, names, NULL::double precision
$$;

-- How far work from `began` to `ends` has come at `at`: 100 per cent only when it is over. `mb` is what it copies.
CREATE FUNCTION simulated.progress(
    outcome text, began timestamptz, ends timestamptz, at timestamptz, mb integer DEFAULT NULL
) RETURNS simulated.answer LANGUAGE sql IMMUTABLE AS $$
    SELECT outcome, NULL::text,
        CASE WHEN ends <= at THEN 100
             ELSE least(99, floor(100 * extract(epoch FROM at - began) / extract(epoch FROM ends - began)))::int
        END,
        greatest(0, extract(epoch FROM ends - at))::double precision,
        NULL::text[],
        (mb / nullif(extract(epoch FROM ends - began), 0))::double precision
$$;

-- Counts this call on every fault that matches it, and tells what those that act now add up to. `detail` is the host
-- that does not answer, where that is what blocks the call.
CREATE FUNCTION simulated.strike(
    the_call text, machine_name text, host_name text,
    OUT outcome text, OUT blocked boolean, OUT factor double precision, OUT halt double precision, OUT detail text
) LANGUAGE plpgsql AS $$
DECLARE
    f simulated.fault;
BEGIN
    outcome := 'ok';
    factor := 1;
    FOR f IN
        SELECT * FROM simulated.fault s
        WHERE (s.call IS NULL OR s.call = the_call)
            AND (s.machine IS NULL OR machine_name LIKE s.machine)
            -- a move concerns two hosts: the one it goes to, and the one it is on
            AND (s.host IS NULL OR s.host = host_name
                OR s.host = (SELECT m.host FROM simulated.machine m WHERE m.name = machine_name))
        ORDER BY s.id
        FOR UPDATE
    LOOP
        UPDATE simulated.fault SET hits = hits + 1 WHERE id = f.id;
        CONTINUE WHEN f.hits + 1 < f.nth OR f.hits + 1 >= f.nth + f.count;
        CASE f.action
            WHEN 'slow' THEN factor := factor * f.amount;
            WHEN 'power_off' THEN halt := f.amount;
            WHEN 'trace' THEN
                INSERT INTO simulated.call AS c VALUES (coalesce(machine_name, ''), the_call, 1)
                ON CONFLICT (machine, call) DO UPDATE SET count = c.count + 1;
            ELSE
                IF outcome = 'ok' THEN
                    outcome := f.action;
                    IF f.action = 'unreachable' THEN
                        detail := coalesce(f.host, host_name,
                            (SELECT m.host FROM simulated.machine m WHERE m.name = machine_name));
                    END IF;
                END IF;
        END CASE;
    END LOOP;
    blocked := outcome NOT IN ('ok', 'crash_after');
END $$;

CREATE FUNCTION simulated.define(
    machine_name text, host_name text, memory_mb integer, vcpu_count integer, mac_address text
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('define', machine_name, host_name);
    there text;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    INSERT INTO simulated.machine AS m (name, host, memory, vcpus, mac)
    VALUES (machine_name, host_name, memory_mb, vcpu_count, mac_address)
    ON CONFLICT (name) DO UPDATE SET memory = excluded.memory, vcpus = excluded.vcpus, mac = excluded.mac
        WHERE m.host = excluded.host
            AND (m.memory, m.vcpus, m.mac) <> (excluded.memory, excluded.vcpus, excluded.mac);
    SELECT host INTO there FROM simulated.machine WHERE name = machine_name;
    IF there <> host_name THEN
        RETURN simulated.simply('refuse', 'The machine is defined on another host.');
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.undefine(machine_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('undefine', machine_name, NULL);
BEGIN
    IF NOT hit.blocked THEN
        DELETE FROM simulated.machine WHERE name = machine_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

-- Whether a machine that is on has booted with the disk.
CREATE FUNCTION simulated.in_use(m simulated.machine, disk_name text, at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT simulated.is_off(m, at)
        AND EXISTS (SELECT FROM jsonb_each_text(m.boot -> 'devices') WHERE value = disk_name)
$$;

-- `made` is the disk as it is to be, its `used` that of what it is made from where that is no archive or disk.
-- `per_mb` is how many seconds each MB takes that is copied, on top of `seconds`.
CREATE FUNCTION simulated.create_disk(
    made simulated.disk, from_archive text, from_machine text, from_disk text,
    seconds double precision, per_mb double precision
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('create_disk', made.machine, NULL);
    m simulated.machine;
    d simulated.disk;
    at timestamptz;
    there timestamptz;
    copied boolean := from_archive IS NOT NULL OR from_disk IS NOT NULL;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = made.machine FOR UPDATE;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such machine.');
    END IF;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    at := clock_timestamp();
    SELECT * INTO d FROM simulated.disk WHERE machine = made.machine AND name = made.name;
    IF FOUND THEN
        RETURN simulated.progress(hit.outcome, d.began_at, d.ready_at, at, CASE WHEN copied THEN d.used END);
    END IF;
    IF from_archive IS NOT NULL THEN
        SELECT a.used, coalesce(made.root_hash, a.root_hash), a.fingerprints || made.fingerprints,
               coalesce(made.script_digest, a.script_digest), a.ready_at
          INTO made.used, made.root_hash, made.fingerprints, made.script_digest, there
          FROM simulated.archive a WHERE a.name = from_archive;
        IF NOT FOUND OR there > at THEN
            RETURN simulated.simply('refuse', 'There is no such archive.');
        END IF;
    ELSIF from_disk IS NOT NULL THEN
        SELECT s.used, s.root_hash, s.fingerprints, s.script_digest, s.ready_at
          INTO made.used, made.root_hash, made.fingerprints, made.script_digest, there
          FROM simulated.disk s WHERE s.machine = from_machine AND s.name = from_disk;
        IF NOT FOUND THEN
            RETURN simulated.simply('refuse', 'The disk to copy is not there.');
        ELSIF there > at THEN
            RETURN simulated.simply('fail', 'The disk to copy is not ready.');
        END IF;
    END IF;
    IF made.used > made.size THEN
        RETURN simulated.simply('refuse', format('The disk needs %s MB for what it is made from.', made.used));
    END IF;
    made.began_at := at;
    made.ready_at := at + make_interval(secs => (seconds + made.used * per_mb) * hit.factor);
    INSERT INTO simulated.disk SELECT made.*;
    RETURN simulated.progress(hit.outcome, made.began_at, made.ready_at, at, CASE WHEN copied THEN made.used END);
END $$;

CREATE FUNCTION simulated.resize_disk(
    machine_name text, disk_name text, size_mb integer, per_mb double precision
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('resize_disk', machine_name, NULL);
    m simulated.machine;
    d simulated.disk;
    at timestamptz;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such disk.');
    END IF;
    at := clock_timestamp();
    IF d.size <> size_mb THEN
        IF simulated.in_use(m, disk_name, at) THEN
            RETURN simulated.simply('refuse', 'The disk is in use by a machine that is on.');
        ELSIF d.used > size_mb THEN
            RETURN simulated.simply('refuse', format('The files on the disk need %s MB.', d.used));
        ELSIF d.ready_at > at THEN
            RETURN simulated.simply('fail', 'The disk is not ready.');
        END IF;
        UPDATE simulated.disk
           SET size = size_mb, began_at = at, ready_at = at + make_interval(secs => d.used * per_mb * hit.factor)
         WHERE machine = machine_name AND name = disk_name
        RETURNING * INTO d;
    END IF;
    RETURN simulated.progress(hit.outcome, d.began_at, d.ready_at, at, d.used);
END $$;

CREATE FUNCTION simulated.set_password(machine_name text, disk_name text, hash text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('set_password', machine_name, NULL);
    m simulated.machine;
    d simulated.disk;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such disk.');
    ELSIF d.ready_at > clock_timestamp() THEN
        RETURN simulated.simply('fail', 'The disk is not ready.');
    ELSIF d.root_hash IS NULL THEN
        RETURN simulated.simply('refuse', 'There is no system on the disk to set a password in.');
    ELSIF simulated.in_use(m, disk_name, clock_timestamp()) THEN
        RETURN simulated.simply('refuse', 'The disk is in use by a machine that is on.');
    END IF;
    UPDATE simulated.disk SET root_hash = hash WHERE machine = machine_name AND name = disk_name;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.delete_disk(machine_name text, disk_name text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('delete_disk', machine_name, NULL);
    m simulated.machine;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    IF simulated.in_use(m, disk_name, clock_timestamp()) THEN
        RETURN simulated.simply('fail', 'The disk is in use by a machine that is on.');
    END IF;
    DELETE FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.disks(machine_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('disks', machine_name, NULL);
BEGIN
    RETURN simulated.simply(
        hit.outcome, hit.detail, ARRAY(SELECT name FROM simulated.disk WHERE machine = machine_name));
END $$;

-- Locks volumes, in one order, and tells why the machine cannot have them: a refusal, a failure, or nothing (null).
-- Whoever asks holds the machine. One that another machine gets in the same moment is seen with it, since whoever
-- gave it that held the volume.
CREATE FUNCTION simulated.cannot_have(machine_name text, volume_names text[], at timestamptz)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    there integer;
    ready integer;
BEGIN
    SELECT count(*), count(*) FILTER (WHERE ready_at <= at) INTO there, ready FROM (
        SELECT ready_at FROM simulated.volume WHERE name = ANY (volume_names) ORDER BY name FOR UPDATE) v;
    IF there < cardinality(volume_names) THEN
        RETURN simulated.simply('refuse', 'There is no such volume.');
    ELSIF ready < there THEN
        RETURN simulated.simply('fail', 'The volume is not ready.');
    ELSIF EXISTS (
        SELECT FROM simulated.machine other
         WHERE other.plugged ?| volume_names AND other.name <> machine_name AND NOT simulated.is_off(other, at)
    ) THEN
        RETURN simulated.simply('refuse', 'Another machine has the volume.');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION simulated.start(
    machine_name text, disk_names text[], volume_names text[], boot_spec jsonb, seconds double precision
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('start', machine_name, NULL);
    m simulated.machine;
    at timestamptz;
    made integer;
    ready integer;
    lacking simulated.answer;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such machine.');
    END IF;
    at := clock_timestamp();
    IF NOT simulated.is_off(m, at) THEN
        IF m.power = 'on' THEN
            RETURN simulated.progress(hit.outcome, m.began_at, m.settles_at, at);
        END IF;
        -- it is shutting down: nothing to show until that is over, then the same call boots it
        RETURN (hit.outcome, NULL, 0, extract(epoch FROM m.settles_at - at), NULL, NULL)::simulated.answer;
    END IF;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    SELECT count(*), count(*) FILTER (WHERE ready_at <= at) INTO made, ready
    FROM simulated.disk WHERE machine = machine_name AND name = ANY (disk_names);
    IF made < cardinality(disk_names)
        OR made + cardinality(volume_names) = 0 AND NOT (boot_spec -> 'rescue')::boolean THEN
        RETURN simulated.simply('refuse', 'A disk to boot from is missing.');
    ELSIF ready < made THEN
        RETURN simulated.simply('fail', 'A disk to boot from is not ready.');
    END IF;
    lacking := simulated.cannot_have(machine_name, volume_names, at);
    IF lacking.outcome IS NOT NULL THEN
        RETURN lacking;
    END IF;
    UPDATE simulated.machine SET
        power = 'on',
        was_on = simulated.been_on(m, at),
        began_at = at,
        settles_at = at + make_interval(secs => seconds * hit.factor),
        halts_at = at + make_interval(secs => seconds * hit.factor + hit.halt),
        boot = boot_spec,
        plugged = boot_spec -> 'volumes',
        boots = boots + 1
    WHERE name = machine_name
    RETURNING * INTO m;
    PERFORM simulated.renew_firewall(
        machine_name, (boot_spec #>> '{firewall,version}')::bigint, boot_spec #>> '{firewall,ruleset}');
    RETURN simulated.progress(hit.outcome, m.began_at, m.settles_at, at);
END $$;

CREATE FUNCTION simulated.stop(machine_name text, seconds double precision)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('stop', machine_name, NULL);
    m simulated.machine;
    at timestamptz;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    at := clock_timestamp();
    IF NOT FOUND OR simulated.is_off(m, at) THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    IF m.power = 'on' THEN
        UPDATE simulated.machine SET
            power = 'off',
            was_on = simulated.been_on(m, at),
            began_at = at,
            settles_at = at + make_interval(secs => seconds * hit.factor),
            halts_at = NULL
        WHERE name = machine_name
        RETURNING * INTO m;
    END IF;
    RETURN simulated.progress(hit.outcome, m.began_at, m.settles_at, at);
END $$;

-- Takes what is newer than what is there; nulls are not.
CREATE FUNCTION simulated.renew_firewall(machine_name text, version bigint, ruleset text)
RETURNS void LANGUAGE sql AS $$
    UPDATE simulated.machine SET firewall = ruleset, firewall_version = version
     WHERE name = machine_name AND firewall_version < version
$$;

CREATE FUNCTION simulated.set_firewall(machine_name text, version bigint, ruleset text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('set_firewall', machine_name, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    PERFORM simulated.renew_firewall(machine_name, version, ruleset);
    RETURN simulated.simply(hit.outcome, coalesce(
        (SELECT firewall_version FROM simulated.machine WHERE name = machine_name), 0)::text);
END $$;

CREATE FUNCTION simulated.power(machine_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('power', machine_name, NULL);
    off boolean;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT simulated.is_off(m, clock_timestamp()) INTO off FROM simulated.machine m WHERE name = machine_name;
    RETURN simulated.simply(hit.outcome, CASE off WHEN true THEN 'off' WHEN false THEN 'on' ELSE 'absent' END);
END $$;

CREATE FUNCTION simulated.powered_off(host_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('powered_off', NULL, host_name);
BEGIN
    RETURN simulated.simply(hit.outcome, hit.detail, ARRAY(
        SELECT name FROM simulated.machine m WHERE host = host_name AND simulated.is_off(m, now())));
END $$;

-- For how long each machine has been on that is on: what all it has used follows from.
CREATE FUNCTION simulated.usage(host_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('usage', NULL, host_name);
    at timestamptz := clock_timestamp();
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, (
        SELECT json_agg(json_build_array(m.name, m.vcpus, simulated.been_on(m, at)))::text
          FROM simulated.machine m WHERE m.host = host_name AND NOT simulated.is_off(m, at)));
END $$;

-- `per_mb` is how many seconds each MB takes that is on the machine's disks.
CREATE FUNCTION simulated.move(machine_name text, host_name text, per_mb double precision)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('move', machine_name, host_name);
    m simulated.machine;
    at timestamptz;
    mb integer;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    at := clock_timestamp();
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such machine.');
    ELSIF NOT simulated.is_off(m, at) THEN
        RETURN simulated.simply('refuse', 'The machine is on.');
    ELSIF m.host = host_name THEN
        -- it is here, or had set out and turns back: what was copied is dropped
        UPDATE simulated.machine SET moving_to = NULL, moved_by = NULL WHERE name = machine_name;
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT coalesce(sum(used), 0) INTO mb FROM simulated.disk WHERE machine = machine_name;
    IF m.moving_to IS DISTINCT FROM host_name THEN
        UPDATE simulated.machine SET
            power = 'off',
            was_on = simulated.been_on(m, at),
            halts_at = NULL,
            moving_to = host_name,
            began_at = at,
            settles_at = at,
            moved_by = at + make_interval(secs => hit.factor * per_mb * mb)
        WHERE name = machine_name
        RETURNING * INTO m;
    END IF;
    IF m.moved_by <= at THEN
        UPDATE simulated.machine SET host = host_name, moving_to = NULL, moved_by = NULL WHERE name = machine_name;
    END IF;
    RETURN simulated.progress(hit.outcome, m.began_at, m.moved_by, at, mb);
END $$;

CREATE FUNCTION simulated.save_disk(
    machine_name text, disk_name text, archive_name text, seconds double precision, per_mb double precision
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('save_disk', machine_name, NULL);
    m simulated.machine;
    d simulated.disk;
    a simulated.archive;
    at timestamptz;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is on its way to another host.');
    END IF;
    at := clock_timestamp();
    SELECT * INTO a FROM simulated.archive WHERE name = archive_name;
    IF NOT FOUND THEN
        SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
        IF NOT FOUND THEN
            RETURN simulated.simply('refuse', 'There is no such disk.');
        ELSIF d.ready_at > at THEN
            RETURN simulated.simply('fail', 'The disk is not ready.');
        END IF;
        INSERT INTO simulated.archive VALUES (
            archive_name, greatest(1, d.used), d.root_hash, d.fingerprints, d.script_digest,
            at, at + make_interval(secs => (seconds + d.used * per_mb) * hit.factor)
        ) RETURNING * INTO a;
    END IF;
    RETURN simulated.progress(hit.outcome, a.began_at, a.ready_at, at, a.used);
END $$;

-- `used_mb` is null where there is no file to take in.
CREATE FUNCTION simulated.archive_upload(archive_name text, used_mb integer, seconds double precision)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('archive_upload', NULL, NULL);
    a simulated.archive;
    at timestamptz := clock_timestamp();
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    INSERT INTO simulated.archive
    SELECT archive_name, used_mb, 'scrypt$00$00', '{}', NULL, at, at + make_interval(secs => seconds * hit.factor)
     WHERE used_mb IS NOT NULL
    ON CONFLICT DO NOTHING;
    SELECT * INTO a FROM simulated.archive WHERE name = archive_name;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'The uploaded file is gone.');
    END IF;
    RETURN simulated.progress(hit.outcome, a.began_at, a.ready_at, at);
END $$;

-- Whether a machine that is on has the volume.
CREATE FUNCTION simulated.is_plugged(volume_name text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM simulated.machine m WHERE m.plugged ? volume_name AND NOT simulated.is_off(m, at))
$$;

CREATE FUNCTION simulated.create_volume(
    volume_name text, region_name text, size_gb integer, hardware_name text, from_volume text,
    seconds double precision, per_mb double precision
) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('create_volume', NULL, NULL);
    v simulated.volume;
    model simulated.volume;
    at timestamptz := clock_timestamp();
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO v FROM simulated.volume WHERE name = volume_name;
    IF NOT FOUND THEN
        IF from_volume IS NOT NULL THEN
            SELECT * INTO model FROM simulated.volume WHERE name = from_volume;
            IF NOT FOUND THEN
                RETURN simulated.simply('refuse', 'The volume to copy is not there.');
            ELSIF model.ready_at > at THEN
                RETURN simulated.simply('fail', 'The volume to copy is not ready.');
            ELSIF model.used > size_gb * 1024 THEN
                RETURN simulated.simply('refuse', format('The copy needs %s MB.', model.used));
            END IF;
        END IF;
        INSERT INTO simulated.volume VALUES (
            volume_name, region_name, size_gb, hardware_name, coalesce(model.used, 0), at,
            at + make_interval(secs => (seconds + coalesce(model.used, 0) * per_mb) * hit.factor)
        ) ON CONFLICT DO NOTHING;
        SELECT * INTO v FROM simulated.volume WHERE name = volume_name;
    END IF;
    RETURN simulated.progress(
        hit.outcome, v.began_at, v.ready_at, at, CASE WHEN from_volume IS NOT NULL THEN v.used END);
END $$;

CREATE FUNCTION simulated.resize_volume(volume_name text, size_gb integer, seconds double precision)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('resize_volume', NULL, NULL);
    v simulated.volume;
    at timestamptz;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO v FROM simulated.volume WHERE name = volume_name FOR UPDATE;
    at := clock_timestamp();
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such volume.');
    ELSIF v.size > size_gb THEN
        RETURN simulated.simply('refuse', format('The volume has %s GB already.', v.size));
    ELSIF v.ready_at > at THEN
        RETURN simulated.simply('fail', 'The volume is not ready.');
    ELSIF v.size < size_gb THEN
        UPDATE simulated.volume
           SET size = size_gb, growing_at = at, grown_at = at + make_interval(secs => seconds * hit.factor)
         WHERE name = volume_name
        RETURNING * INTO v;
    END IF;
    RETURN simulated.progress(hit.outcome, coalesce(v.growing_at, at), coalesce(v.grown_at, at), at);
END $$;

CREATE FUNCTION simulated.volume_size(volume_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('volume_size', NULL, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, (SELECT size::text FROM simulated.volume WHERE name = volume_name));
END $$;

CREATE FUNCTION simulated.delete_volume(volume_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('delete_volume', NULL, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    PERFORM FROM simulated.volume WHERE name = volume_name FOR UPDATE;
    IF simulated.is_plugged(volume_name, clock_timestamp()) THEN
        RETURN simulated.simply('fail', 'The volume is in use by a machine that is on.');
    END IF;
    DELETE FROM simulated.volume WHERE name = volume_name;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.plug(machine_name text, volume_name text, label text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('plug', machine_name, NULL);
    m simulated.machine;
    at timestamptz;
    lacking simulated.answer;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'There is no such machine.');
    END IF;
    at := clock_timestamp();
    lacking := simulated.cannot_have(machine_name, ARRAY[volume_name], at);
    IF lacking.outcome IS NOT NULL THEN
        RETURN lacking;
    END IF;
    UPDATE simulated.machine SET plugged = plugged || jsonb_build_object(volume_name, label)
     WHERE name = machine_name AND NOT simulated.is_off(m, at);
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.unplug(machine_name text, volume_name text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('unplug', machine_name, NULL);
BEGIN
    IF NOT hit.blocked THEN
        UPDATE simulated.machine SET plugged = plugged - volume_name WHERE name = machine_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.archive_size(archive_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('archive_size', NULL, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, (
        SELECT used::text FROM simulated.archive WHERE name = archive_name AND ready_at <= clock_timestamp()));
END $$;

CREATE FUNCTION simulated.delete_archive(archive_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('delete_archive', NULL, NULL);
BEGIN
    IF NOT hit.blocked THEN
        DELETE FROM simulated.archive WHERE name = archive_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;
