SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA simulated;
COMMENT ON SCHEMA simulated IS 'e625becfe0fb77df534492d1761c170fb40133c1a18c24197d175609aab2a10e';
CREATE TYPE simulated.answer AS (
	outcome text,
	detail text,
	percent integer,
	wait double precision,
	names text[],
	rate double precision
);
CREATE FUNCTION simulated.archive_size(archive_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('archive_size', NULL, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, (
        SELECT used::text FROM simulated.archive WHERE name = archive_name AND ready_at <= clock_timestamp()));
END $$;
CREATE FUNCTION simulated.archive_upload(archive_name text, used_mb integer, seconds double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $_$
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
END $_$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE simulated.machine (
    name text NOT NULL,
    host text NOT NULL,
    memory integer NOT NULL,
    vcpus integer NOT NULL,
    mac text NOT NULL,
    power text DEFAULT 'off'::text NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    settles_at timestamp with time zone DEFAULT now() NOT NULL,
    halts_at timestamp with time zone,
    boot jsonb,
    boots integer DEFAULT 0 NOT NULL,
    moving_to text,
    moved_by timestamp with time zone,
    was_on double precision DEFAULT 0 NOT NULL,
    firewall text DEFAULT ''::text NOT NULL,
    firewall_version bigint DEFAULT 0 NOT NULL,
    plugged jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT machine_power_check CHECK ((power = ANY (ARRAY['on'::text, 'off'::text])))
);
CREATE FUNCTION simulated.been_on(m simulated.machine, at timestamp with time zone) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT m.was_on + CASE WHEN m.power = 'on'
        THEN greatest(0, extract(epoch FROM least(at, m.halts_at) - m.began_at)) ELSE 0 END
$$;
CREATE FUNCTION simulated.cannot_have(machine_name text, volume_names text[], at timestamp with time zone) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE TABLE simulated.disk (
    machine text NOT NULL,
    name text NOT NULL,
    size integer NOT NULL,
    filesystem text NOT NULL,
    image text,
    root_hash text,
    fingerprints text[] DEFAULT '{}'::text[] NOT NULL,
    began_at timestamp with time zone NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    used integer DEFAULT 0 NOT NULL,
    script_digest text
);
CREATE FUNCTION simulated.create_disk(made simulated.disk, from_archive text, from_machine text, from_disk text, seconds double precision, per_mb double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.create_volume(volume_name text, region_name text, size_gb integer, hardware_name text, from_volume text, seconds double precision, per_mb double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.define(machine_name text, host_name text, memory_mb integer, vcpu_count integer, mac_address text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.delete_archive(archive_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('delete_archive', NULL, NULL);
BEGIN
    IF NOT hit.blocked THEN
        DELETE FROM simulated.archive WHERE name = archive_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;
CREATE FUNCTION simulated.delete_disk(machine_name text, disk_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.delete_volume(volume_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.disks(machine_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('disks', machine_name, NULL);
BEGIN
    RETURN simulated.simply(
        hit.outcome, hit.detail, ARRAY(SELECT name FROM simulated.disk WHERE machine = machine_name));
END $$;
CREATE FUNCTION simulated.in_use(m simulated.machine, disk_name text, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT NOT simulated.is_off(m, at)
        AND EXISTS (SELECT FROM jsonb_each_text(m.boot -> 'devices') WHERE value = disk_name)
$$;
CREATE FUNCTION simulated.is_off(m simulated.machine, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT m.power = 'off' AND m.settles_at <= at OR m.power = 'on' AND coalesce(m.halts_at <= at, false)
$$;
CREATE FUNCTION simulated.is_plugged(volume_name text, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM simulated.machine m WHERE m.plugged ? volume_name AND NOT simulated.is_off(m, at))
$$;
CREATE FUNCTION simulated.move(machine_name text, host_name text, per_mb double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.plug(machine_name text, volume_name text, label text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.power(machine_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.powered_off(host_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('powered_off', NULL, host_name);
BEGIN
    RETURN simulated.simply(hit.outcome, hit.detail, ARRAY(
        SELECT name FROM simulated.machine m WHERE host = host_name AND simulated.is_off(m, now())));
END $$;
CREATE FUNCTION simulated.progress(outcome text, began timestamp with time zone, ends timestamp with time zone, at timestamp with time zone, mb integer DEFAULT NULL::integer) RETURNS simulated.answer
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT outcome, NULL::text,
        CASE WHEN ends <= at THEN 100
             ELSE least(99, floor(100 * extract(epoch FROM at - began) / extract(epoch FROM ends - began)))::int
        END,
        greatest(0, extract(epoch FROM ends - at))::double precision,
        NULL::text[],
        (mb / nullif(extract(epoch FROM ends - began), 0))::double precision
$$;
CREATE FUNCTION simulated.renew_firewall(machine_name text, version bigint, ruleset text) RETURNS void
    LANGUAGE sql
    AS $$
    UPDATE simulated.machine SET firewall = ruleset, firewall_version = version
     WHERE name = machine_name AND firewall_version < version
$$;
CREATE FUNCTION simulated.resize_disk(machine_name text, disk_name text, size_mb integer, per_mb double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.resize_volume(volume_name text, size_gb integer, seconds double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.save_disk(machine_name text, disk_name text, archive_name text, seconds double precision, per_mb double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.set_firewall(machine_name text, version bigint, ruleset text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.set_password(machine_name text, disk_name text, hash text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.simply(outcome text, detail text DEFAULT NULL::text, names text[] DEFAULT NULL::text[]) RETURNS simulated.answer
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT outcome, detail, 100, 0::double precision, names, NULL::double precision
$$;
CREATE FUNCTION simulated.start(machine_name text, disk_names text[], volume_names text[], boot_spec jsonb, seconds double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.stop(machine_name text, seconds double precision) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.strike(the_call text, machine_name text, host_name text, OUT outcome text, OUT blocked boolean, OUT factor double precision, OUT halt double precision, OUT detail text) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.undefine(machine_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('undefine', machine_name, NULL);
BEGIN
    IF NOT hit.blocked THEN
        DELETE FROM simulated.machine WHERE name = machine_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;
CREATE FUNCTION simulated.unplug(machine_name text, volume_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('unplug', machine_name, NULL);
BEGIN
    IF NOT hit.blocked THEN
        UPDATE simulated.machine SET plugged = plugged - volume_name WHERE name = machine_name;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;
CREATE FUNCTION simulated.usage(host_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION simulated.volume_size(volume_name text) RETURNS simulated.answer
    LANGUAGE plpgsql
    AS $$
DECLARE
    hit record := simulated.strike('volume_size', NULL, NULL);
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, (SELECT size::text FROM simulated.volume WHERE name = volume_name));
END $$;
CREATE TABLE public.accounts_account (
    id bigint NOT NULL,
    euuid uuid NOT NULL,
    company character varying(128) NOT NULL,
    email character varying(128) NOT NULL,
    first_name character varying(50) NOT NULL,
    last_name character varying(50) NOT NULL,
    address_1 character varying(64) NOT NULL,
    address_2 character varying(64) NOT NULL,
    city character varying(24) NOT NULL,
    state character varying(24) NOT NULL,
    zip character varying(16) NOT NULL,
    country character varying(2) NOT NULL,
    phone character varying(32) NOT NULL,
    tax_id character varying(25) NOT NULL,
    network_helper boolean NOT NULL,
    backups_enabled boolean NOT NULL,
    managed boolean NOT NULL,
    is_active boolean NOT NULL,
    extra_ipv4 integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    CONSTRAINT accounts_account_extra_ipv4_check CHECK ((extra_ipv4 >= 0))
);
ALTER TABLE public.accounts_account ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_account_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_authorization (
    id bigint NOT NULL,
    scopes text NOT NULL,
    created timestamp with time zone NOT NULL,
    expiry timestamp with time zone,
    client_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_authorization ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_authorization_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_event (
    id bigint NOT NULL,
    action character varying(40) NOT NULL,
    status character varying(12) NOT NULL,
    username character varying(32) NOT NULL,
    created timestamp with time zone NOT NULL,
    started timestamp with time zone,
    duration double precision,
    percent_complete smallint,
    rate character varying(32),
    time_remaining integer,
    message text NOT NULL,
    seen boolean NOT NULL,
    read boolean NOT NULL,
    entity_type character varying(20) NOT NULL,
    entity_id bigint,
    entity_label text NOT NULL,
    entity_url text NOT NULL,
    secondary_type character varying(20) NOT NULL,
    secondary_id text NOT NULL,
    secondary_label text NOT NULL,
    secondary_url text NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT accounts_event_percent_complete_check CHECK ((percent_complete >= 0)),
    CONSTRAINT accounts_event_time_remaining_check CHECK ((time_remaining >= 0)),
    CONSTRAINT event_percent CHECK (((percent_complete IS NULL) OR (percent_complete <= 100)))
);
ALTER TABLE public.accounts_event ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_externalidentity (
    id bigint NOT NULL,
    issuer character varying(255) NOT NULL,
    subject character varying(255) NOT NULL,
    label character varying(128) NOT NULL,
    created timestamp with time zone NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_externalidentity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_externalidentity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_globalgrants (
    user_id bigint NOT NULL,
    account_access character varying(10),
    add_computes boolean NOT NULL,
    add_databases boolean NOT NULL,
    add_domains boolean NOT NULL,
    add_firewalls boolean NOT NULL,
    add_images boolean NOT NULL,
    add_longview boolean NOT NULL,
    add_nodebalancers boolean NOT NULL,
    add_stackscripts boolean NOT NULL,
    add_volumes boolean NOT NULL,
    cancel_account boolean NOT NULL,
    longview_subscription boolean NOT NULL
);
CREATE TABLE public.accounts_grant (
    id bigint NOT NULL,
    entity_type character varying(20) NOT NULL,
    entity_id bigint NOT NULL,
    permissions character varying(10) NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_grant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_login (
    id bigint NOT NULL,
    username character varying(32) NOT NULL,
    restricted boolean NOT NULL,
    ip inet NOT NULL,
    created timestamp with time zone NOT NULL,
    account_id bigint,
    user_id bigint
);
ALTER TABLE public.accounts_login ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_login_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_message (
    id bigint NOT NULL,
    channel character varying(4) NOT NULL,
    recipient character varying(128) NOT NULL,
    subject character varying(200) NOT NULL,
    encrypted bytea NOT NULL,
    attempt smallint NOT NULL,
    error text NOT NULL,
    created timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    run_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    given_up boolean NOT NULL,
    lease_until timestamp with time zone,
    fence integer DEFAULT 0 NOT NULL,
    CONSTRAINT accounts_message_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT accounts_message_fence_check CHECK ((fence >= 0))
);
ALTER TABLE public.accounts_message ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthaccesstoken (
    id bigint NOT NULL,
    token text NOT NULL,
    token_checksum character varying(64) NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    resource jsonb NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    id_token_id bigint,
    source_refresh_token_id bigint,
    user_id bigint
);
ALTER TABLE public.accounts_oauthaccesstoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthaccesstoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthclient (
    id bigint NOT NULL,
    client_id character varying(255) NOT NULL,
    redirect_uris text NOT NULL,
    post_logout_redirect_uris text NOT NULL,
    client_type character varying(32) NOT NULL,
    authorization_grant_type character varying(44) NOT NULL,
    client_secret character varying(255) NOT NULL,
    hash_client_secret boolean NOT NULL,
    skip_authorization boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    algorithm character varying(5) NOT NULL,
    allowed_origins text NOT NULL,
    registration_source character varying(32) NOT NULL,
    cimd_expires_at timestamp with time zone,
    name character varying(512) NOT NULL,
    status character varying(10) NOT NULL,
    thumbnail bytea,
    user_id bigint,
    account_id bigint,
    CONSTRAINT oauth_client_secret_hashed CHECK ((((client_secret)::text = ''::text) OR ((client_secret)::text ~~ '%$%'::text)))
);
ALTER TABLE public.accounts_oauthclient ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthclient_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthgrant (
    id bigint NOT NULL,
    expires timestamp with time zone NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    code_challenge character varying(128) NOT NULL,
    code_challenge_method character varying(10) NOT NULL,
    nonce character varying(255) NOT NULL,
    claims text NOT NULL,
    resource jsonb NOT NULL,
    code character varying(64) NOT NULL,
    spent boolean NOT NULL,
    token_family uuid,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_oauthgrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthgrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthidtoken (
    id bigint NOT NULL,
    jti uuid NOT NULL,
    expires timestamp with time zone NOT NULL,
    scope text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    application_id bigint,
    user_id bigint
);
ALTER TABLE public.accounts_oauthidtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthidtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_oauthrefreshtoken (
    id bigint NOT NULL,
    token text NOT NULL,
    token_checksum character varying(64) NOT NULL,
    token_family uuid,
    resource jsonb NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    revoked timestamp with time zone,
    access_token_id bigint,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_oauthrefreshtoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_oauthrefreshtoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_personaltoken (
    id bigint NOT NULL,
    label character varying(100) NOT NULL,
    scopes text NOT NULL,
    digest character varying(64) NOT NULL,
    prefix character varying(16) NOT NULL,
    created timestamp with time zone NOT NULL,
    expiry timestamp with time zone,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_personaltoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_personaltoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_phoneverification (
    user_id bigint NOT NULL,
    number character varying(20) NOT NULL,
    encrypted bytea NOT NULL,
    attempts smallint NOT NULL,
    expiry timestamp with time zone NOT NULL,
    CONSTRAINT accounts_phoneverification_attempts_check CHECK ((attempts >= 0))
);
CREATE TABLE public.accounts_preferences (
    id bigint NOT NULL,
    body text NOT NULL,
    updated timestamp with time zone NOT NULL,
    client_id bigint,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_preferences ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_preferences_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_secondfactor (
    user_id bigint NOT NULL,
    encrypted bytea,
    last_step bigint NOT NULL,
    scratch character varying(64) NOT NULL,
    pending bytea,
    pending_until timestamp with time zone
);
CREATE TABLE public.accounts_securityanswer (
    id bigint NOT NULL,
    question_id smallint NOT NULL,
    response character varying(128) NOT NULL,
    user_id bigint NOT NULL,
    CONSTRAINT accounts_securityanswer_question_id_check CHECK ((question_id >= 0))
);
ALTER TABLE public.accounts_securityanswer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_securityanswer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_sshkey (
    id bigint NOT NULL,
    label character varying(64) NOT NULL,
    ssh_key text NOT NULL,
    created timestamp with time zone NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_sshkey ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_sshkey_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_ticket (
    id bigint NOT NULL,
    summary character varying(64) NOT NULL,
    description text NOT NULL,
    status character varying(6) NOT NULL,
    closable boolean NOT NULL,
    entity_type character varying(20) NOT NULL,
    entity_id character varying(64) NOT NULL,
    entity_label character varying(255) NOT NULL,
    entity_url character varying(255) NOT NULL,
    managed_issue boolean NOT NULL,
    opened timestamp with time zone NOT NULL,
    opened_by character varying(32) NOT NULL,
    gravatar_id character varying(64) NOT NULL,
    updated timestamp with time zone NOT NULL,
    updated_by character varying(32),
    closed timestamp with time zone,
    account_id bigint NOT NULL,
    CONSTRAINT ticket_closed CHECK ((((closed IS NOT NULL) AND ((status)::text = 'closed'::text)) OR ((NOT ((status)::text = 'closed'::text)) AND (closed IS NULL))))
);
ALTER TABLE public.accounts_ticket ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_ticket_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_ticketattachment (
    id bigint NOT NULL,
    key uuid NOT NULL,
    name character varying(255) NOT NULL,
    media_type character varying(100) NOT NULL,
    size integer NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by character varying(32) NOT NULL,
    ticket_id bigint NOT NULL,
    CONSTRAINT accounts_ticketattachment_size_check CHECK ((size >= 0))
);
ALTER TABLE public.accounts_ticketattachment ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_ticketattachment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_ticketreply (
    id bigint NOT NULL,
    description text NOT NULL,
    created timestamp with time zone NOT NULL,
    created_by character varying(32) NOT NULL,
    gravatar_id character varying(64) NOT NULL,
    from_staff boolean NOT NULL,
    ticket_id bigint NOT NULL
);
ALTER TABLE public.accounts_ticketreply ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_ticketreply_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_trusteddevice (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    user_agent text NOT NULL,
    last_remote_addr inet NOT NULL,
    last_authenticated timestamp with time zone NOT NULL,
    created timestamp with time zone NOT NULL,
    expiry timestamp with time zone NOT NULL,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_trusteddevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_trusteddevice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user (
    id bigint NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(32) NOT NULL,
    email character varying(128) NOT NULL,
    restricted boolean NOT NULL,
    is_active boolean NOT NULL,
    is_staff boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    timezone character varying(64) NOT NULL,
    email_notifications boolean NOT NULL,
    ip_whitelist_enabled boolean NOT NULL,
    lish_auth_method character varying(16) NOT NULL,
    lish_authorized_keys text[],
    two_factor_auth boolean NOT NULL,
    verified_phone_number character varying(20),
    authentication_type character varying(32) NOT NULL,
    account_id bigint,
    CONSTRAINT user_restricted_needs_account CHECK (((account_id IS NOT NULL) OR (NOT restricted)))
);
CREATE TABLE public.accounts_user_groups (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.accounts_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.accounts_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user_user_permissions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.accounts_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_address (
    id bigint NOT NULL,
    address inet NOT NULL,
    prefix smallint NOT NULL,
    gateway inet NOT NULL,
    public boolean NOT NULL,
    rdns character varying(254),
    released timestamp with time zone,
    region_id character varying(50) NOT NULL,
    pool_id bigint NOT NULL,
    nodebalancer_id bigint,
    instance_id bigint,
    CONSTRAINT address_of_one CHECK (((instance_id IS NULL) OR (nodebalancer_id IS NULL))),
    CONSTRAINT compute_address_prefix_check CHECK ((prefix >= 0))
);
ALTER TABLE public.compute_address ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_address_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_addresspool (
    id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    network character varying(49) NOT NULL,
    gateway inet NOT NULL,
    created timestamp with time zone NOT NULL,
    region_id character varying(50) NOT NULL
);
ALTER TABLE public.compute_addresspool ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_addresspool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_addressshare (
    id bigint NOT NULL,
    address_id bigint NOT NULL,
    instance_id bigint NOT NULL
);
ALTER TABLE public.compute_addressshare ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_addressshare_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_alert (
    id bigint NOT NULL,
    metric character varying(16) NOT NULL,
    value double precision NOT NULL,
    threshold integer NOT NULL,
    raised timestamp with time zone NOT NULL,
    cleared timestamp with time zone,
    instance_id bigint NOT NULL,
    CONSTRAINT compute_alert_threshold_check CHECK ((threshold >= 0))
);
ALTER TABLE public.compute_alert ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_alert_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_backup (
    id bigint NOT NULL,
    type character varying(10) NOT NULL,
    rotation character varying(10),
    status character varying(20) NOT NULL,
    label character varying(255),
    configs character varying(48)[] NOT NULL,
    disks jsonb NOT NULL,
    profiles jsonb NOT NULL,
    day date,
    message text NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    finished timestamp with time zone,
    account_id bigint NOT NULL,
    region_id character varying(50) NOT NULL,
    instance_id bigint NOT NULL
);
ALTER TABLE public.compute_backup ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_backup_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_nodebalancersample (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    connections double precision NOT NULL,
    traffic_in double precision NOT NULL,
    traffic_out double precision NOT NULL,
    nodebalancer_id bigint NOT NULL
);
ALTER TABLE public.compute_nodebalancersample ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_balancersample_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_nodebalancertransfer (
    id bigint NOT NULL,
    month date NOT NULL,
    received bigint NOT NULL,
    sent bigint NOT NULL,
    nodebalancer_id bigint NOT NULL
);
ALTER TABLE public.compute_nodebalancertransfer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_balancertransfer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_config (
    id bigint NOT NULL,
    label character varying(48) NOT NULL,
    comments text,
    memory_limit integer NOT NULL,
    run_level character varying(8) NOT NULL,
    virt_mode character varying(8) NOT NULL,
    root_device character varying(64) NOT NULL,
    helpers jsonb NOT NULL,
    interfaces jsonb NOT NULL,
    rescue boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    instance_id bigint NOT NULL,
    kernel_id character varying(64) NOT NULL,
    CONSTRAINT compute_config_memory_limit_check CHECK ((memory_limit >= 0))
);
ALTER TABLE public.compute_config ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_config_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_configdevice (
    id bigint NOT NULL,
    slot character varying(3) NOT NULL,
    config_id bigint NOT NULL,
    disk_id bigint NOT NULL
);
ALTER TABLE public.compute_configdevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_configdevice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_disk (
    id bigint NOT NULL,
    label character varying(48) NOT NULL,
    size integer NOT NULL,
    filesystem character varying(8) NOT NULL,
    status character varying(10) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    image_id character varying(64),
    instance_id bigint NOT NULL,
    stackscript_id bigint,
    CONSTRAINT compute_disk_size_check CHECK ((size >= 0))
);
ALTER TABLE public.compute_disk ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_disk_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_domain (
    id bigint NOT NULL,
    label character varying(255) NOT NULL,
    type character varying(6) NOT NULL,
    status character varying(8) NOT NULL,
    "group" character varying(50) NOT NULL,
    description character varying(255) NOT NULL,
    soa_email character varying(254) NOT NULL,
    master_ips inet[] NOT NULL,
    axfr_ips inet[] NOT NULL,
    retry_sec integer NOT NULL,
    refresh_sec integer NOT NULL,
    expire_sec integer NOT NULL,
    ttl_sec integer NOT NULL,
    tags character varying(50)[] NOT NULL,
    serial bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT compute_domain_expire_sec_check CHECK ((expire_sec >= 0)),
    CONSTRAINT compute_domain_refresh_sec_check CHECK ((refresh_sec >= 0)),
    CONSTRAINT compute_domain_retry_sec_check CHECK ((retry_sec >= 0)),
    CONSTRAINT compute_domain_serial_check CHECK ((serial >= 0)),
    CONSTRAINT compute_domain_ttl_sec_check CHECK ((ttl_sec >= 0)),
    CONSTRAINT master_has_soa_email CHECK ((((type)::text = 'slave'::text) OR (NOT ((soa_email)::text = ''::text)))),
    CONSTRAINT slave_has_masters CHECK ((((type)::text = 'master'::text) OR (
CASE
    WHEN (master_ips IS NULL) THEN NULL::integer
    ELSE COALESCE(array_length(master_ips, 1), 0)
END > 0)))
);
ALTER TABLE public.compute_domain ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_domain_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_domainrecord (
    id bigint NOT NULL,
    type character varying(5) NOT NULL,
    name character varying(100) NOT NULL,
    target text NOT NULL,
    priority smallint NOT NULL,
    weight integer NOT NULL,
    port integer NOT NULL,
    service character varying(64),
    protocol character varying(64),
    ttl_sec integer NOT NULL,
    tag character varying(9),
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    domain_id bigint NOT NULL,
    CONSTRAINT compute_domainrecord_port_check CHECK ((port >= 0)),
    CONSTRAINT compute_domainrecord_priority_check CHECK ((priority >= 0)),
    CONSTRAINT compute_domainrecord_ttl_sec_check CHECK ((ttl_sec >= 0)),
    CONSTRAINT compute_domainrecord_weight_check CHECK ((weight >= 0))
);
ALTER TABLE public.compute_domainrecord ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_domainrecord_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_firewall (
    id bigint NOT NULL,
    label character varying(32) NOT NULL,
    status character varying(10) NOT NULL,
    rules jsonb NOT NULL,
    tags character varying(50)[] NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.compute_firewall ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_firewall_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_firewalldevice (
    id bigint NOT NULL,
    enabled boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    firewall_id bigint NOT NULL,
    instance_id bigint NOT NULL
);
ALTER TABLE public.compute_firewalldevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_firewalldevice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_heartbeat (
    id uuid NOT NULL,
    kind character varying(8) NOT NULL,
    hostname character varying(255) NOT NULL,
    pid integer NOT NULL,
    version character varying(32) NOT NULL,
    queues character varying(64)[] NOT NULL,
    started timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    seen timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    stopped timestamp with time zone,
    CONSTRAINT compute_heartbeat_pid_check CHECK ((pid >= 0))
);
CREATE TABLE public.compute_host (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    label character varying(64) NOT NULL,
    enabled boolean NOT NULL,
    maintenance timestamp with time zone,
    memory integer NOT NULL,
    vcpus integer NOT NULL,
    disk integer NOT NULL,
    memory_used integer NOT NULL,
    vcpus_used integer NOT NULL,
    disk_used integer NOT NULL,
    created timestamp with time zone NOT NULL,
    region_id character varying(50) NOT NULL,
    reachable_since timestamp with time zone,
    unreachable_error text DEFAULT ''::text NOT NULL,
    unreachable_since timestamp with time zone,
    CONSTRAINT compute_host_disk_check CHECK ((disk >= 0)),
    CONSTRAINT compute_host_disk_used_check CHECK ((disk_used >= 0)),
    CONSTRAINT compute_host_memory_check CHECK ((memory >= 0)),
    CONSTRAINT compute_host_memory_used_check CHECK ((memory_used >= 0)),
    CONSTRAINT compute_host_vcpus_check CHECK ((vcpus >= 0)),
    CONSTRAINT compute_host_vcpus_used_check CHECK ((vcpus_used >= 0)),
    CONSTRAINT host_disk CHECK ((disk_used <= disk)),
    CONSTRAINT host_memory CHECK ((memory_used <= memory)),
    CONSTRAINT host_vcpus CHECK ((vcpus_used <= vcpus))
);
ALTER TABLE public.compute_host ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_host_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_hostmigration (
    id bigint NOT NULL,
    status character varying(10) NOT NULL,
    reason text NOT NULL,
    "when" timestamp with time zone NOT NULL,
    created timestamp with time zone NOT NULL,
    instance_id bigint NOT NULL
);
ALTER TABLE public.compute_hostmigration ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_hostmigration_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_image (
    id character varying(64) NOT NULL,
    number bigint,
    label character varying(50) NOT NULL,
    vendor character varying(64),
    description text,
    size integer NOT NULL,
    is_public boolean NOT NULL,
    deprecated boolean NOT NULL,
    type character varying(10) NOT NULL,
    status character varying(16) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone,
    created_by character varying(32),
    expiry timestamp with time zone,
    eol timestamp with time zone,
    account_id bigint,
    CONSTRAINT compute_image_size_check CHECK ((size >= 0)),
    CONSTRAINT image_private_has_account CHECK ((is_public OR (account_id IS NOT NULL)))
);
CREATE TABLE public.compute_instance (
    id bigint NOT NULL,
    label character varying(64) NOT NULL,
    status character varying(16) NOT NULL,
    "group" character varying(50) NOT NULL,
    tags character varying(50)[] NOT NULL,
    ipv4 character varying(15)[] NOT NULL,
    ipv6 character varying(43),
    alert_cpu integer NOT NULL,
    alert_io integer NOT NULL,
    alert_network_in integer NOT NULL,
    alert_network_out integer NOT NULL,
    alert_transfer_quota integer NOT NULL,
    backups_enabled boolean NOT NULL,
    backups_available boolean NOT NULL,
    backups_day character varying(10),
    backups_window character varying(10),
    backups_last_successful timestamp with time zone,
    watchdog_enabled boolean NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    booted_config_id bigint,
    host_id bigint NOT NULL,
    image_id character varying(64),
    region_id character varying(50) NOT NULL,
    type_id character varying(50) NOT NULL,
    CONSTRAINT compute_instance_alert_cpu_check CHECK ((alert_cpu >= 0)),
    CONSTRAINT compute_instance_alert_io_check CHECK ((alert_io >= 0)),
    CONSTRAINT compute_instance_alert_network_in_check CHECK ((alert_network_in >= 0)),
    CONSTRAINT compute_instance_alert_network_out_check CHECK ((alert_network_out >= 0)),
    CONSTRAINT compute_instance_alert_transfer_quota_check CHECK ((alert_transfer_quota >= 0)),
    CONSTRAINT instance_status CHECK (((status)::text = ANY ((ARRAY['running'::character varying, 'offline'::character varying, 'booting'::character varying, 'rebooting'::character varying, 'shutting_down'::character varying, 'provisioning'::character varying, 'deleting'::character varying, 'migrating'::character varying, 'rebuilding'::character varying, 'cloning'::character varying, 'restoring'::character varying, 'stopped'::character varying])::text[])))
);
ALTER TABLE public.compute_instance ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_instance_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_instancetype (
    id character varying(50) NOT NULL,
    label character varying(64) NOT NULL,
    type_class character varying(10) NOT NULL,
    memory integer NOT NULL,
    disk integer NOT NULL,
    vcpus integer NOT NULL,
    gpus integer NOT NULL,
    transfer integer NOT NULL,
    network_out integer NOT NULL,
    price_hourly double precision NOT NULL,
    price_monthly double precision NOT NULL,
    backup_price_hourly double precision,
    backup_price_monthly double precision,
    deprecated boolean NOT NULL,
    successor_id character varying(50),
    CONSTRAINT compute_instancetype_disk_check CHECK ((disk >= 0)),
    CONSTRAINT compute_instancetype_gpus_check CHECK ((gpus >= 0)),
    CONSTRAINT compute_instancetype_memory_check CHECK ((memory >= 0)),
    CONSTRAINT compute_instancetype_network_out_check CHECK ((network_out >= 0)),
    CONSTRAINT compute_instancetype_transfer_check CHECK ((transfer >= 0)),
    CONSTRAINT compute_instancetype_vcpus_check CHECK ((vcpus >= 0))
);
CREATE TABLE public.compute_ipv6range (
    id bigint NOT NULL,
    kind character varying(5) NOT NULL,
    range inet NOT NULL,
    prefix smallint NOT NULL,
    route_target inet,
    created timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    instance_id bigint,
    pool_id bigint NOT NULL,
    region_id character varying(50) NOT NULL,
    CONSTRAINT compute_ipv6range_prefix_check CHECK ((prefix >= 0))
);
ALTER TABLE public.compute_ipv6range ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_ipv6range_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_job (
    id bigint NOT NULL,
    kind character varying(32) NOT NULL,
    state character varying(8) NOT NULL,
    step character varying(32) NOT NULL,
    data jsonb NOT NULL,
    encrypted bytea,
    error text NOT NULL,
    cancelled boolean NOT NULL,
    attempt integer NOT NULL,
    fence integer NOT NULL,
    created_by character varying(32) NOT NULL,
    created timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    run_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    notified_at timestamp with time zone,
    lease_until timestamp with time zone,
    deadline_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    event_id bigint,
    instance_id bigint,
    source_id bigint,
    volume_id bigint,
    CONSTRAINT compute_job_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT compute_job_fence_check CHECK ((fence >= 0)),
    CONSTRAINT job_finished_at CHECK ((((finished_at IS NOT NULL) AND ((state)::text = ANY ((ARRAY['done'::character varying, 'failed'::character varying])::text[]))) OR ((finished_at IS NULL) AND ((state)::text = ANY ((ARRAY['queued'::character varying, 'active'::character varying, 'undoing'::character varying])::text[]))))),
    CONSTRAINT job_secrets_end_with_it CHECK (((finished_at IS NULL) OR (encrypted IS NULL)))
);
ALTER TABLE public.compute_job ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_kernel (
    id character varying(64) NOT NULL,
    label character varying(128) NOT NULL,
    version character varying(32) NOT NULL,
    kvm boolean NOT NULL,
    xen boolean NOT NULL,
    architecture character varying(8) NOT NULL,
    pvops boolean NOT NULL,
    deprecated boolean NOT NULL,
    built timestamp with time zone
);
CREATE TABLE public.compute_meter (
    instance_id bigint NOT NULL,
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    counters jsonb NOT NULL
);
CREATE TABLE public.compute_nodebalancer (
    id bigint NOT NULL,
    label character varying(32) NOT NULL,
    hostname character varying(254) NOT NULL,
    ipv4 inet NOT NULL,
    ipv6 inet,
    client_conn_throttle smallint NOT NULL,
    tags character varying(50)[] NOT NULL,
    version integer NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    region_id character varying(50) NOT NULL,
    CONSTRAINT compute_nodebalancer_client_conn_throttle_check CHECK ((client_conn_throttle >= 0)),
    CONSTRAINT compute_nodebalancer_version_check CHECK ((version >= 0))
);
ALTER TABLE public.compute_nodebalancer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_nodebalancer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_nodebalancerconfig (
    id bigint NOT NULL,
    port integer NOT NULL,
    protocol character varying(5) NOT NULL,
    algorithm character varying(10) NOT NULL,
    stickiness character varying(11) NOT NULL,
    check_type character varying(10) NOT NULL,
    check_interval integer NOT NULL,
    check_timeout smallint NOT NULL,
    check_attempts smallint NOT NULL,
    check_path character varying(255) NOT NULL,
    check_body character varying(255) NOT NULL,
    check_passive boolean NOT NULL,
    proxy_protocol character varying(4) NOT NULL,
    cipher_suite character varying(11) NOT NULL,
    ssl_cert text,
    encrypted bytea,
    ssl_commonname character varying(255) NOT NULL,
    ssl_fingerprint character varying(95) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    nodebalancer_id bigint NOT NULL,
    CONSTRAINT compute_nodebalancerconfig_check_attempts_check CHECK ((check_attempts >= 0)),
    CONSTRAINT compute_nodebalancerconfig_check_interval_check CHECK ((check_interval >= 0)),
    CONSTRAINT compute_nodebalancerconfig_check_timeout_check CHECK ((check_timeout >= 0)),
    CONSTRAINT compute_nodebalancerconfig_port_check CHECK ((port >= 0)),
    CONSTRAINT https_has_a_certificate CHECK ((((encrypted IS NOT NULL) AND ((protocol)::text = 'https'::text) AND (ssl_cert IS NOT NULL)) OR ((NOT ((protocol)::text = 'https'::text)) AND (encrypted IS NULL) AND (ssl_cert IS NULL))))
);
ALTER TABLE public.compute_nodebalancerconfig ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_nodebalancerconfig_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_nodebalancermeter (
    nodebalancer_id bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    connections bigint NOT NULL,
    received bigint NOT NULL,
    sent bigint NOT NULL
);
CREATE TABLE public.compute_nodebalancernode (
    id bigint NOT NULL,
    label character varying(32) NOT NULL,
    address character varying(21) NOT NULL,
    weight smallint NOT NULL,
    mode character varying(6) NOT NULL,
    status character varying(7) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    config_id bigint NOT NULL,
    instance_id bigint NOT NULL,
    CONSTRAINT compute_nodebalancernode_weight_check CHECK ((weight >= 0))
);
ALTER TABLE public.compute_nodebalancernode ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_nodebalancernode_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_packetfilter (
    instance_id bigint NOT NULL,
    wanted bigint NOT NULL,
    applied bigint DEFAULT 0 NOT NULL,
    changed timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    confirmed timestamp with time zone,
    error text DEFAULT ''::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    run_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    notified_at timestamp with time zone,
    lease_until timestamp with time zone,
    CONSTRAINT compute_packetfilter_applied_check CHECK ((applied >= 0)),
    CONSTRAINT compute_packetfilter_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT compute_packetfilter_fence_check CHECK ((fence >= 0)),
    CONSTRAINT compute_packetfilter_wanted_check CHECK ((wanted >= 0))
);
CREATE TABLE public.compute_reservation (
    id bigint NOT NULL,
    memory integer NOT NULL,
    vcpus integer NOT NULL,
    disk integer NOT NULL,
    host_id bigint NOT NULL,
    instance_id bigint NOT NULL,
    CONSTRAINT compute_reservation_disk_check CHECK ((disk >= 0)),
    CONSTRAINT compute_reservation_memory_check CHECK ((memory >= 0)),
    CONSTRAINT compute_reservation_vcpus_check CHECK ((vcpus >= 0))
);
ALTER TABLE public.compute_reservation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_reservation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_sample (
    id bigint NOT NULL,
    span integer NOT NULL,
    at timestamp with time zone NOT NULL,
    cpu double precision NOT NULL,
    io double precision NOT NULL,
    swap double precision NOT NULL,
    v4_in double precision NOT NULL,
    v4_out double precision NOT NULL,
    v4_private_in double precision NOT NULL,
    v4_private_out double precision NOT NULL,
    v6_in double precision NOT NULL,
    v6_out double precision NOT NULL,
    v6_private_in double precision NOT NULL,
    v6_private_out double precision NOT NULL,
    instance_id bigint NOT NULL
);
ALTER TABLE public.compute_sample ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_sample_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_seededrow (
    id bigint NOT NULL,
    kind character varying(8) NOT NULL,
    key character varying(64) NOT NULL
);
ALTER TABLE public.compute_seededrow ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_seededrow_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_stackscript (
    id bigint NOT NULL,
    username character varying(32) NOT NULL,
    label character varying(128) NOT NULL,
    description text NOT NULL,
    images character varying(64)[] NOT NULL,
    is_public boolean NOT NULL,
    rev_note character varying(512) NOT NULL,
    script text NOT NULL,
    user_defined_fields jsonb NOT NULL,
    deployments_total integer NOT NULL,
    ordinal integer NOT NULL,
    logo_url character varying(255) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT compute_stackscript_deployments_total_check CHECK ((deployments_total >= 0)),
    CONSTRAINT compute_stackscript_ordinal_check CHECK ((ordinal >= 0))
);
ALTER TABLE public.compute_stackscript ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_stackscript_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_transfer (
    id bigint NOT NULL,
    month date NOT NULL,
    sent bigint NOT NULL,
    received bigint NOT NULL,
    quota integer NOT NULL,
    account_id bigint NOT NULL,
    instance_id bigint,
    CONSTRAINT compute_transfer_quota_check CHECK ((quota >= 0))
);
ALTER TABLE public.compute_transfer ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_transfer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_vlan (
    id bigint NOT NULL,
    label character varying(64) NOT NULL,
    created timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    region_id character varying(50) NOT NULL
);
ALTER TABLE public.compute_vlan ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_vlan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_volume (
    id bigint NOT NULL,
    label character varying(32) NOT NULL,
    size integer NOT NULL,
    status character varying(10) NOT NULL,
    hardware_type character varying(4) NOT NULL,
    tags character varying(50)[] NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    instance_id bigint,
    region_id character varying(50) NOT NULL,
    CONSTRAINT compute_volume_size_check CHECK ((size >= 0)),
    CONSTRAINT volume_status CHECK (((status)::text = ANY ((ARRAY['creating'::character varying, 'active'::character varying, 'resizing'::character varying])::text[])))
);
ALTER TABLE public.compute_volume ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_volume_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.compute_volumedevice (
    id bigint NOT NULL,
    slot character varying(3) NOT NULL,
    config_id bigint NOT NULL,
    volume_id bigint NOT NULL
);
ALTER TABLE public.compute_volumedevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.compute_volumedevice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id bigint NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.managed_computesettings (
    instance_id bigint NOT NULL,
    access boolean NOT NULL,
    "user" character varying(32),
    ip character varying(45) NOT NULL,
    port integer,
    CONSTRAINT managed_computesettings_port_check CHECK ((port >= 0))
);
CREATE TABLE public.managed_contact (
    id bigint NOT NULL,
    name character varying(64) NOT NULL,
    email character varying(128) NOT NULL,
    phone_primary character varying(32),
    phone_secondary character varying(32),
    "group" character varying(50),
    updated timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.managed_contact ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_contact_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.managed_credential (
    id bigint NOT NULL,
    label character varying(75) NOT NULL,
    encrypted bytea NOT NULL,
    created timestamp with time zone NOT NULL,
    last_decrypted timestamp with time zone,
    account_id bigint NOT NULL
);
ALTER TABLE public.managed_credential ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_credential_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.managed_decryption (
    id bigint NOT NULL,
    label character varying(75) NOT NULL,
    username character varying(150) NOT NULL,
    reason character varying(500) NOT NULL,
    created timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    credential_id bigint,
    key_pair_id bigint,
    CONSTRAINT decryption_of_one CHECK (((credential_id IS NULL) OR (key_pair_id IS NULL)))
);
ALTER TABLE public.managed_decryption ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_decryption_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.managed_issue (
    id bigint NOT NULL,
    services bigint[] NOT NULL,
    created timestamp with time zone NOT NULL,
    closed timestamp with time zone,
    account_id bigint NOT NULL,
    ticket_id bigint NOT NULL
);
ALTER TABLE public.managed_issue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_issue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.managed_keypair (
    account_id bigint NOT NULL,
    public text NOT NULL,
    encrypted bytea NOT NULL,
    created timestamp with time zone NOT NULL
);
CREATE TABLE public.managed_measurement (
    id bigint NOT NULL,
    span integer NOT NULL,
    at timestamp with time zone NOT NULL,
    checks integer NOT NULL,
    failed integer NOT NULL,
    milliseconds double precision,
    service_id bigint NOT NULL,
    CONSTRAINT managed_measurement_checks_check CHECK ((checks >= 0)),
    CONSTRAINT managed_measurement_failed_check CHECK ((failed >= 0)),
    CONSTRAINT measurement_failed CHECK ((failed <= checks))
);
ALTER TABLE public.managed_measurement ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_measurement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.managed_service (
    id bigint NOT NULL,
    label character varying(64) NOT NULL,
    service_type character varying(3) NOT NULL,
    address character varying(100) NOT NULL,
    timeout smallint NOT NULL,
    body character varying(100),
    consultation_group character varying(50) NOT NULL,
    notes text,
    status character varying(8) NOT NULL,
    created timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    next_check_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    lease_until timestamp with time zone,
    fence integer NOT NULL,
    checked_at timestamp with time zone,
    failures smallint NOT NULL,
    error text NOT NULL,
    account_id bigint NOT NULL,
    issue_id bigint,
    region_id character varying(50),
    CONSTRAINT managed_service_failures_check CHECK ((failures >= 0)),
    CONSTRAINT managed_service_fence_check CHECK ((fence >= 0)),
    CONSTRAINT managed_service_timeout_check CHECK ((timeout >= 0)),
    CONSTRAINT only_problems_have_an_issue CHECK ((((status)::text = 'problem'::text) OR (issue_id IS NULL)))
);
CREATE TABLE public.managed_service_credentials (
    id bigint NOT NULL,
    service_id bigint NOT NULL,
    credential_id bigint NOT NULL
);
ALTER TABLE public.managed_service_credentials ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_service_credentials_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.managed_service ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.managed_service_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.oauth2_provider_devicegrant (
    id bigint NOT NULL,
    device_code character varying(100) NOT NULL,
    user_code character varying(100) NOT NULL,
    scope text NOT NULL,
    "interval" integer NOT NULL,
    expires timestamp with time zone NOT NULL,
    status character varying(64) NOT NULL,
    client_id character varying(100) NOT NULL,
    last_checked timestamp with time zone NOT NULL,
    user_id bigint
);
ALTER TABLE public.oauth2_provider_devicegrant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.oauth2_provider_devicegrant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.regions_region (
    id character varying(50) NOT NULL,
    country character varying(2) NOT NULL,
    capabilities character varying(64)[] NOT NULL,
    status character varying(10) NOT NULL,
    resolvers_ipv4 text NOT NULL,
    resolvers_ipv6 text NOT NULL,
    retired boolean NOT NULL
);
CREATE TABLE public.tags_tag (
    id bigint NOT NULL,
    label character varying(50) NOT NULL,
    created timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE public.tags_tag ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tags_tag_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tags_tagging (
    id bigint NOT NULL,
    entity_type character varying(20) NOT NULL,
    entity_id bigint NOT NULL,
    tag_id bigint NOT NULL
);
ALTER TABLE public.tags_tagging ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tags_tagging_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE simulated.archive (
    name text NOT NULL,
    used integer NOT NULL,
    root_hash text,
    fingerprints text[] DEFAULT '{}'::text[] NOT NULL,
    script_digest text,
    began_at timestamp with time zone NOT NULL,
    ready_at timestamp with time zone NOT NULL
);
CREATE TABLE simulated.call (
    machine text NOT NULL,
    call text NOT NULL,
    count integer NOT NULL
);
CREATE TABLE simulated.fault (
    id bigint NOT NULL,
    action text NOT NULL,
    call text,
    machine text,
    host text,
    nth integer NOT NULL,
    count integer,
    amount double precision,
    hits integer DEFAULT 0 NOT NULL
);
ALTER TABLE simulated.fault ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME simulated.fault_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE simulated.volume (
    name text NOT NULL,
    region text NOT NULL,
    size integer NOT NULL,
    hardware text NOT NULL,
    used integer NOT NULL,
    began_at timestamp with time zone NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    growing_at timestamp with time zone,
    grown_at timestamp with time zone
);
INSERT INTO public.accounts_account VALUES
	(1, 'ad04ae00-87b1-4f8a-9eb0-2d6d37edba51', 'World', 'world@example.com', '', '', '', '', '', '', '', '', '', '', true, false, true, true, 0, '2026-11-22 20:03:04.314362+00', '2026-11-22 20:03:04.31437+00'),
	(2, '62dd088b-36ae-4bcb-98cf-278b703748fa', 'Company 0', 'account0@example.com', '', '', '', '', '', '', '', '', '', '', true, false, true, true, 0, '2026-11-22 20:03:04.373142+00', '2026-11-22 20:03:04.37315+00');
INSERT INTO public.accounts_authorization VALUES
	(1, '*', '2026-11-22 20:03:04.523429+00', NULL, 1, 3),
	(2, '*', '2026-11-22 20:03:04.526607+00', NULL, 1, 4),
	(3, '*', '2026-11-22 20:03:04.529013+00', NULL, 1, 5),
	(4, '*', '2026-11-22 20:03:04.532009+00', NULL, 1, 6),
	(5, '*', '2026-11-22 20:03:04.534784+00', NULL, 1, 7),
	(6, '*', '2026-11-22 20:03:04.537758+00', NULL, 1, 8);
INSERT INTO public.accounts_event VALUES
	(1, 'compute_update', 'notification', '', '2026-11-22 20:03:04.329948+00', NULL, NULL, NULL, NULL, NULL, '', false, false, 'compute', 1, 'some-compute', '', '', '', '', '', 1),
	(3, 'vlan_attach', 'notification', 'worldowner', '2026-11-22 20:03:04.612811+00', NULL, NULL, NULL, NULL, NULL, '', false, false, 'compute', 2, 'networked', '/v4/compute/instances/2', 'vlan', 'back', 'back', '/v4/networking/vlans', 1),
	(4, 'compute_create', 'finished', 'worldowner', '2026-11-22 20:03:10.63473+00', '2026-11-22 20:03:10.651123+00', 0.064877, 100, NULL, NULL, '', false, false, 'compute', 3, 'running', '/v4/compute/instances/3', 'image', 'compute/test11', 'Test 11', '/v4/images/compute/test11', 1),
	(5, 'compute_boot', 'finished', 'worldowner', '2026-11-22 20:03:10.717418+00', '2026-11-22 20:03:10.717341+00', 0.011031, 100, NULL, NULL, '', false, false, 'compute', 3, 'running', '/v4/compute/instances/3', 'compute_config', '3', 'My Test 11 Disk Profile', '/v4/compute/instances/3/configs/3', 1),
	(2, 'compute_create', 'finished', 'worldowner', '2026-11-22 20:03:04.611151+00', '2026-11-22 20:03:10.730228+00', 0.020305, 100, NULL, NULL, '', false, false, 'compute', 2, 'networked', '/v4/compute/instances/2', 'image', 'compute/test11', 'Test 11', '/v4/images/compute/test11', 1),
	(6, 'compute_boot', 'finished', 'worldowner', '2026-11-22 20:03:10.751572+00', '2026-11-22 20:03:10.75151+00', 0.006891, 100, NULL, NULL, '', false, false, 'compute', 2, 'networked', '/v4/compute/instances/2', 'compute_config', '2', 'My Test 11 Disk Profile', '/v4/compute/instances/2/configs/2', 1),
	(7, 'compute_create', 'finished', 'worldowner', '2026-11-22 20:03:10.765562+00', '2026-11-22 20:03:10.770111+00', 0.022273, 100, NULL, NULL, '', false, false, 'compute', 4, 'stopped', '/v4/compute/instances/4', 'image', 'compute/test11', 'Test 11', '/v4/images/compute/test11', 1),
	(8, 'compute_boot', 'finished', 'worldowner', '2026-11-22 20:03:10.793586+00', '2026-11-22 20:03:10.793528+00', 0.007797, 100, NULL, NULL, '', false, false, 'compute', 4, 'stopped', '/v4/compute/instances/4', 'compute_config', '4', 'My Test 11 Disk Profile', '/v4/compute/instances/4/configs/4', 1),
	(9, 'compute_shutdown', 'finished', 'worldowner', '2026-11-22 20:03:10.807179+00', '2026-11-22 20:03:10.810884+00', 0.00333, 100, NULL, NULL, '', false, false, 'compute', 4, 'stopped', '/v4/compute/instances/4', '', '', '', '', 1),
	(10, 'compute_create', 'scheduled', 'worldowner', '2026-11-22 20:03:10.821517+00', NULL, NULL, 0, NULL, NULL, '', false, false, 'compute', 5, 'at work', '/v4/compute/instances/5', 'image', 'compute/test11', 'Test 11', '/v4/images/compute/test11', 1),
	(11, 'compute_boot', 'scheduled', 'worldowner', '2026-11-22 20:03:10.831921+00', NULL, NULL, 0, NULL, NULL, '', false, false, 'compute', 4, 'stopped', '/v4/compute/instances/4', 'compute_config', '4', 'My Test 11 Disk Profile', '/v4/compute/instances/4/configs/4', 1);
INSERT INTO public.accounts_globalgrants VALUES
	(2, 'read_only', false, false, false, false, false, false, false, false, false, false, false),
	(5, 'read_only', false, false, false, false, false, false, false, false, false, false, false),
	(6, 'read_write', true, true, true, true, true, true, true, true, true, true, true);
INSERT INTO public.accounts_grant VALUES
	(1, 'compute', 1, 'read_only', 5),
	(2, 'compute', 1, 'read_write', 6),
	(3, 'domain', 1, 'read_only', 5),
	(4, 'domain', 1, 'read_write', 6),
	(5, 'image', 77, 'read_only', 5),
	(6, 'image', 77, 'read_write', 6),
	(7, 'stackscript', 1, 'read_only', 5),
	(8, 'stackscript', 1, 'read_write', 6),
	(9, 'volume', 1, 'read_only', 5),
	(10, 'volume', 1, 'read_write', 6),
	(11, 'nodebalancer', 1, 'read_only', 5),
	(12, 'nodebalancer', 1, 'read_write', 6),
	(13, 'firewall', 1, 'read_only', 5),
	(14, 'firewall', 1, 'read_write', 6);
INSERT INTO public.accounts_login VALUES
	(1, 'user1', false, '198.51.100.7', '2026-11-22 20:03:04.519671+00', 1, 3),
	(2, 'user2', true, '198.51.100.7', '2026-11-22 20:03:04.524506+00', 1, 4),
	(3, 'user3', true, '198.51.100.7', '2026-11-22 20:03:04.527217+00', 1, 5),
	(4, 'user4', true, '198.51.100.7', '2026-11-22 20:03:04.529972+00', 1, 6),
	(5, 'user5', false, '198.51.100.7', '2026-11-22 20:03:04.53267+00', 2, 7),
	(6, 'user6', false, '198.51.100.7', '2026-11-22 20:03:04.535418+00', NULL, 8);
INSERT INTO public.accounts_oauthclient VALUES
	(1, 'a4a1bb012b5d1cd8de0c', 'https://app.example/back', '', 'confidential', 'authorization-code', 'client_secret_sha256$2ed291ca7378ef378c7dcea8e7e49e2f2077375be183e68d1f0efa2b54471bf3', true, false, '2026-11-22 20:03:04.343979+00', '2026-11-22 20:03:04.343987+00', '', '', 'manual', NULL, 'app 0', 'active', '\x89504e470d0a1a0a0000000d49484452000000080000000808020000004b6d29dc0000001449444154789c6314895ac0800d3061151db41200d750011edc1832da0000000049454e44ae426082', NULL, 1);
INSERT INTO public.accounts_personaltoken VALUES
	(1, 'token 0', 'object_storage:read_only', '721d48db2bc592e3759b53e9cc0c0532a31cd91b79351c206ddff4e00089b511', 'deb4801fd0786874', '2026-11-22 20:03:04.540186+00', NULL, 3),
	(2, 'token 1', 'account:read_only computes:read_only databases:read_only domains:read_only events:read_only firewall:read_only images:read_only ips:read_only lke:read_only longview:read_only nodebalancers:read_only object_storage:read_only stackscripts:read_only volumes:read_only', '4b5cd41ff178bf0f10c1dcb2097432ce434bf138094ef2b2266ffa21a10c1ffd', '5f66a2aca6212c63', '2026-11-22 20:03:04.542137+00', NULL, 3),
	(3, 'token 2', '*', '3a2938c902657f795b8a5b1e1334707fb002a135c4fc7bfbc568f030df6d559f', 'a2f4debaafb4c6d0', '2026-11-22 20:03:04.543731+00', NULL, 4),
	(4, 'token 3', '*', '52e6c7f1b39489eaf1eae27737a9cddf937839d3c85d5c8041be71c988848357', 'e7ad73401fabed0a', '2026-11-22 20:03:04.545235+00', NULL, 5),
	(5, 'token 4', '*', '4d27dcf38d74453a9830a523afe5ec0cda6355d2058961921ff4dc3c831bf59e', 'facb2267b846554a', '2026-11-22 20:03:04.546802+00', NULL, 6),
	(6, 'token 5', '*', 'e63b87ae19f997c53c042dc52d1c3f1d29d514252dfdac86f8fff0118673c603', '36c40082b291bc45', '2026-11-22 20:03:04.548343+00', NULL, 3),
	(7, 'token 6', '*', 'd0abcb47c5dd6a709d572ce6d70399124ae68481ee457fa939ec055eb8a0f538', 'a491420e6cb958ef', '2026-11-22 20:03:04.550029+00', NULL, 7),
	(8, 'token 7', '*', '42f2ddbdce33556b6ed8627507c340bf36bfc0e988e10a52816bcd30b1f9559e', 'a4a44b806205c1b0', '2026-11-22 20:03:04.551517+00', NULL, 8);
INSERT INTO public.accounts_phoneverification VALUES
	(1, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(2, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(3, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(4, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(5, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(6, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(7, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00'),
	(8, '+4740612345', '\x67414141414142724130703439413156796b4d3172615f2d336a465663315131377a4c4f396172444e7946493157367665706663627a422d56526a344f7876764f5f4d6b7a7143724e49433139676a72754c746a706350547556364e4552474d443651596a777161536c7470466642615f4362525969733d', 0, '2026-11-22 20:13:04.576818+00');
INSERT INTO public.accounts_secondfactor VALUES
	(1, NULL, 0, '', '\x674141414141427241307034712d3735724567612d484674536d6b4d3935794b345659636f3638375f70347a78447a6e7971393332536a33596e75435f44635447644b4339653036767731435961525f5f49363873515f666b473731584e64504774476947555258794f67304965575755773332615761396f3534436a324a33447474555f71706331733373', '2026-11-22 21:03:04.574142+00'),
	(2, NULL, 0, '', '\x674141414141427241307034664f6a5f58764f7768612d55757653366f4f566732642d496d6d4b523376726258526c7171325f6144764a624e4255564b6b4b70316e564f566a30525436714a4f5f3430456f584e69777841395479344d4b4b75656163385635627a594c5736446d785a50423930766b786f385736546a6c64626e566b4d714e45597a426d75', '2026-11-22 21:03:04.574142+00'),
	(3, NULL, 0, '', '\x67414141414142724130703469576a38516a31586735682d6e6d7834486e444f2d62656546725f70324761444a74505847676873654438734963656d3858434479766635766e455f4f434155623149776273496b65675876736c6669337a684130724738786552777646654f3666624f536a5f53337470304b516a5f543331352d6136727866332d5130434d', '2026-11-22 21:03:04.574142+00'),
	(4, NULL, 0, '', '\x6741414141414272413070346630497879584c4f412d55343378397954717a534b314f45465f3277564b416159755239507937316c684e7959745843344e7469752d31716759535a7830487a35653959494945412d6b42336f43556b5134624e686e36383830324d46364e706431456f52313578507a5f536d4d467a42535f68443053616d6b6d4d3079484c', '2026-11-22 21:03:04.574142+00'),
	(5, NULL, 0, '', '\x6741414141414272413070344d5561446d7753545f5f5a747676634539557a49473863495f53424e7a6d49466f5f70526a576b6f566a55305a426b6e4e655a5f784a6d5747753748756255304935663546485477744c7653346f47775a37776f3875724846763748706978347332724844384a77302d33564a34765f6f4f6d6c497a59475259435032522d58', '2026-11-22 21:03:04.574142+00'),
	(6, NULL, 0, '', '\x6741414141414272413070346244685f4c5a4a514c52767937694b78753637473632784d5a64643351515944522d65445f5938574b7357506c4662714b6f3368665253786d30307a47436178786150564a4d655f64365242614a4b3349746f304f2d70793137496577776869456d37514d6f43565f544a74624b46546642796477423474433167396a50596d', '2026-11-22 21:03:04.574142+00'),
	(7, NULL, 0, '', '\x6741414141414272413070346f6b315730696b4d755369516d55774a4a386f63527257426d4838555657344f3344582d5f523270546849336e38356753555961704b4c62745350615867734d75764362397945796e68353432364b65653846794d33584249785f5a61314658646651496934317337796f4b42486c54626d66665a574330437775754f484270', '2026-11-22 21:03:04.574142+00'),
	(8, NULL, 0, '', '\x6741414141414272413070344c3245667979556736486f7656415832516679643573766943413045736d2d5661594f4f66526236543539495174524f4f665561667737724d694f5a4e6968674d41706b537058624c7645434d6e30384172585941705054566a7079476532773170425a725645794c383261536861367831726b4451774e487055477361675f', '2026-11-22 21:03:04.574142+00');
INSERT INTO public.accounts_securityanswer VALUES
	(1, 1, '', 1),
	(2, 2, '', 1),
	(3, 3, '', 1),
	(4, 1, '', 2),
	(5, 2, '', 2),
	(6, 3, '', 2),
	(7, 1, '', 3),
	(8, 2, '', 3),
	(9, 3, '', 3),
	(10, 1, '', 4),
	(11, 2, '', 4),
	(12, 3, '', 4),
	(13, 1, '', 5),
	(14, 2, '', 5),
	(15, 3, '', 5),
	(16, 1, '', 6),
	(17, 2, '', 6),
	(18, 3, '', 6),
	(19, 1, '', 7),
	(20, 2, '', 7),
	(21, 3, '', 7),
	(22, 1, '', 8),
	(23, 2, '', 8),
	(24, 3, '', 8);
INSERT INTO public.accounts_sshkey VALUES
	(1, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.522447+00', 3),
	(2, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.52606+00', 4),
	(3, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.528515+00', 5),
	(4, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.53142+00', 6),
	(5, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.534202+00', 7),
	(6, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com', '2026-11-22 20:03:04.536984+00', 8);
INSERT INTO public.accounts_ticket VALUES
	(1, 'Help', 'It is dark.', 'new', true, '', '', '', '', false, '2026-11-22 20:03:04.348246+00', 'owner', '', '2026-11-22 20:03:04.348257+00', NULL, NULL, 1),
	(2, 'It is down', 'It is dark.', 'new', true, '', '', '', '', true, '2026-11-22 20:03:04.559608+00', 'owner', '', '2026-11-22 20:03:04.559616+00', NULL, NULL, 1);
INSERT INTO public.accounts_trusteddevice VALUES
	(1, 'eb0af87891acbf7fd756fd4b2de9c15369f6f02ef3f61aa62c635e4e88c947be', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.520904+00', '2026-11-22 20:03:04.521215+00', '2026-12-22 20:03:04.520912+00', 3),
	(2, '322192b17a90701212400f7824a248bdbcc7008d6342a3c37a49c55022d3060c', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.525208+00', '2026-11-22 20:03:04.525368+00', '2026-12-22 20:03:04.525216+00', 4),
	(3, '84bbaa4b1389815d3f30a447a749c15cf240345a37d70d8dae6efc280a5d6630', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.527782+00', '2026-11-22 20:03:04.527932+00', '2026-12-22 20:03:04.527788+00', 5),
	(4, '9a13e7f20bec09070b651b6ea825784f225786218bb02731d897d44890d501e3', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.530647+00', '2026-11-22 20:03:04.530786+00', '2026-12-22 20:03:04.530653+00', 6),
	(5, 'b7564f82fb4eb4e3bf950e44db41c762e62e63e969eca06193c3f2fe1f2694c1', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.533328+00', '2026-11-22 20:03:04.533465+00', '2026-12-22 20:03:04.533334+00', 7),
	(6, '6854c591738ca6638ea49d1e3fd812123258592940493c158c6bda5399fcf90d', 'Mozilla/5.0', '198.51.100.7', '2026-11-22 20:03:04.536085+00', '2026-11-22 20:03:04.53622+00', '2026-12-22 20:03:04.536092+00', 8);
INSERT INTO public.accounts_user VALUES
	(1, '!PPAB2Wd65gRu58Zx2epp9i2JtFXlF3lvxg3RgJKE', NULL, false, 'worldowner', 'world@example.com', false, true, false, '2026-11-22 20:03:04.315502+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(2, '!mM6yPQ6d7BKoKydtBs0qC1zPieuvuObVkD5ADpuP', NULL, false, 'user0', 'user0@example.com', true, true, false, '2026-11-22 20:03:04.345634+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(3, '!ayCpxgHoVIilPEysI7WGclRCs1l3ntRGYLkLzcQM', NULL, false, 'user1', 'user1@example.com', false, true, false, '2026-11-22 20:03:04.368171+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(4, '!if8EcWabwcgQJK5m1KW1oQVv8lIGrkmGpIFRO2XY', NULL, false, 'user2', 'user2@example.com', true, true, false, '2026-11-22 20:03:04.369012+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(5, '!7mAoQgVhjkLzq5M4tNtvPjBzR9SxkCFrzQRRubUa', NULL, false, 'user3', 'user3@example.com', true, true, false, '2026-11-22 20:03:04.370185+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(6, '!DkW6VPV8hWWSnH2TyxQmqY6Qc3u8YeYHvekC0L6q', NULL, false, 'user4', 'user4@example.com', true, true, false, '2026-11-22 20:03:04.371639+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 1),
	(7, '!RrNzw8raZXgoEUQdmmNc3m6T9c7AkDf9DZ4A3inl', NULL, false, 'user5', 'user5@example.com', false, true, false, '2026-11-22 20:03:04.373872+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', 2),
	(8, 'argon2$argon2id$v=19$m=102400,t=2,p=8$R3htSjJxNUJ0YnZkYXNOY2dVMTg3VQ$XeKIISGlQMM8xATIscR1NGrf/lXw3v5ewNBfgYMTHrE', NULL, true, 'user6', 'user6@example.com', false, true, true, '2026-11-22 20:03:04.501385+00', 'UTC', true, false, 'password_keys', NULL, false, NULL, 'password', NULL);
INSERT INTO public.auth_permission VALUES
	(1, 'Can add OAuth client', 1, 'add_oauthclient'),
	(2, 'Can change OAuth client', 1, 'change_oauthclient'),
	(3, 'Can delete OAuth client', 1, 'delete_oauthclient'),
	(4, 'Can view OAuth client', 1, 'view_oauthclient'),
	(5, 'Can add user', 2, 'add_user'),
	(6, 'Can change user', 2, 'change_user'),
	(7, 'Can delete user', 2, 'delete_user'),
	(8, 'Can view user', 2, 'view_user'),
	(9, 'Can add account', 3, 'add_account'),
	(10, 'Can change account', 3, 'change_account'),
	(11, 'Can delete account', 3, 'delete_account'),
	(12, 'Can view account', 3, 'view_account'),
	(13, 'Can add OAuth ID token', 4, 'add_oauthidtoken'),
	(14, 'Can change OAuth ID token', 4, 'change_oauthidtoken'),
	(15, 'Can delete OAuth ID token', 4, 'delete_oauthidtoken'),
	(16, 'Can view OAuth ID token', 4, 'view_oauthidtoken'),
	(17, 'Can add OAuth access token', 5, 'add_oauthaccesstoken'),
	(18, 'Can change OAuth access token', 5, 'change_oauthaccesstoken'),
	(19, 'Can delete OAuth access token', 5, 'delete_oauthaccesstoken'),
	(20, 'Can view OAuth access token', 5, 'view_oauthaccesstoken'),
	(21, 'Can add OAuth refresh token', 6, 'add_oauthrefreshtoken'),
	(22, 'Can change OAuth refresh token', 6, 'change_oauthrefreshtoken'),
	(23, 'Can delete OAuth refresh token', 6, 'delete_oauthrefreshtoken'),
	(24, 'Can view OAuth refresh token', 6, 'view_oauthrefreshtoken'),
	(25, 'Can add global grants', 7, 'add_globalgrants'),
	(26, 'Can change global grants', 7, 'change_globalgrants'),
	(27, 'Can delete global grants', 7, 'delete_globalgrants'),
	(28, 'Can view global grants', 7, 'view_globalgrants'),
	(29, 'Can add phone verification', 8, 'add_phoneverification'),
	(30, 'Can change phone verification', 8, 'change_phoneverification'),
	(31, 'Can delete phone verification', 8, 'delete_phoneverification'),
	(32, 'Can view phone verification', 8, 'view_phoneverification'),
	(33, 'Can add second factor', 9, 'add_secondfactor'),
	(34, 'Can change second factor', 9, 'change_secondfactor'),
	(35, 'Can delete second factor', 9, 'delete_secondfactor'),
	(36, 'Can view second factor', 9, 'view_secondfactor'),
	(37, 'Can add OAuth authorization code', 10, 'add_oauthgrant'),
	(38, 'Can change OAuth authorization code', 10, 'change_oauthgrant'),
	(39, 'Can delete OAuth authorization code', 10, 'delete_oauthgrant'),
	(40, 'Can view OAuth authorization code', 10, 'view_oauthgrant'),
	(41, 'Can add authorization', 11, 'add_authorization'),
	(42, 'Can change authorization', 11, 'change_authorization'),
	(43, 'Can delete authorization', 11, 'delete_authorization'),
	(44, 'Can view authorization', 11, 'view_authorization'),
	(45, 'Can add event', 12, 'add_event'),
	(46, 'Can change event', 12, 'change_event'),
	(47, 'Can delete event', 12, 'delete_event'),
	(48, 'Can view event', 12, 'view_event'),
	(49, 'Can add external identity', 13, 'add_externalidentity'),
	(50, 'Can change external identity', 13, 'change_externalidentity');
INSERT INTO public.auth_permission VALUES
	(51, 'Can delete external identity', 13, 'delete_externalidentity'),
	(52, 'Can view external identity', 13, 'view_externalidentity'),
	(53, 'Can add grant', 14, 'add_grant'),
	(54, 'Can change grant', 14, 'change_grant'),
	(55, 'Can delete grant', 14, 'delete_grant'),
	(56, 'Can view grant', 14, 'view_grant'),
	(57, 'Can add login', 15, 'add_login'),
	(58, 'Can change login', 15, 'change_login'),
	(59, 'Can delete login', 15, 'delete_login'),
	(60, 'Can view login', 15, 'view_login'),
	(61, 'Can add message', 16, 'add_message'),
	(62, 'Can change message', 16, 'change_message'),
	(63, 'Can delete message', 16, 'delete_message'),
	(64, 'Can view message', 16, 'view_message'),
	(65, 'Can add personal access token', 17, 'add_personaltoken'),
	(66, 'Can change personal access token', 17, 'change_personaltoken'),
	(67, 'Can delete personal access token', 17, 'delete_personaltoken'),
	(68, 'Can view personal access token', 17, 'view_personaltoken'),
	(69, 'Can add preferences', 18, 'add_preferences'),
	(70, 'Can change preferences', 18, 'change_preferences'),
	(71, 'Can delete preferences', 18, 'delete_preferences'),
	(72, 'Can view preferences', 18, 'view_preferences'),
	(73, 'Can add security answer', 19, 'add_securityanswer'),
	(74, 'Can change security answer', 19, 'change_securityanswer'),
	(75, 'Can delete security answer', 19, 'delete_securityanswer'),
	(76, 'Can view security answer', 19, 'view_securityanswer'),
	(77, 'Can add SSH key', 20, 'add_sshkey'),
	(78, 'Can change SSH key', 20, 'change_sshkey'),
	(79, 'Can delete SSH key', 20, 'delete_sshkey'),
	(80, 'Can view SSH key', 20, 'view_sshkey'),
	(81, 'Can add ticket', 21, 'add_ticket'),
	(82, 'Can change ticket', 21, 'change_ticket'),
	(83, 'Can delete ticket', 21, 'delete_ticket'),
	(84, 'Can view ticket', 21, 'view_ticket'),
	(85, 'Can add ticket attachment', 22, 'add_ticketattachment'),
	(86, 'Can change ticket attachment', 22, 'change_ticketattachment'),
	(87, 'Can delete ticket attachment', 22, 'delete_ticketattachment'),
	(88, 'Can view ticket attachment', 22, 'view_ticketattachment'),
	(89, 'Can add ticket reply', 23, 'add_ticketreply'),
	(90, 'Can change ticket reply', 23, 'change_ticketreply'),
	(91, 'Can delete ticket reply', 23, 'delete_ticketreply'),
	(92, 'Can view ticket reply', 23, 'view_ticketreply'),
	(93, 'Can add trusted device', 24, 'add_trusteddevice'),
	(94, 'Can change trusted device', 24, 'change_trusteddevice'),
	(95, 'Can delete trusted device', 24, 'delete_trusteddevice'),
	(96, 'Can view trusted device', 24, 'view_trusteddevice'),
	(97, 'Can add region', 25, 'add_region'),
	(98, 'Can change region', 25, 'change_region'),
	(99, 'Can delete region', 25, 'delete_region'),
	(100, 'Can view region', 25, 'view_region');
INSERT INTO public.auth_permission VALUES
	(101, 'Can add tag', 26, 'add_tag'),
	(102, 'Can change tag', 26, 'change_tag'),
	(103, 'Can delete tag', 26, 'delete_tag'),
	(104, 'Can view tag', 26, 'view_tag'),
	(105, 'Can add tagging', 27, 'add_tagging'),
	(106, 'Can change tagging', 27, 'change_tagging'),
	(107, 'Can delete tagging', 27, 'delete_tagging'),
	(108, 'Can view tagging', 27, 'view_tagging'),
	(109, 'Can add load balancer', 28, 'add_nodebalancer'),
	(110, 'Can change load balancer', 28, 'change_nodebalancer'),
	(111, 'Can delete load balancer', 28, 'delete_nodebalancer'),
	(112, 'Can view load balancer', 28, 'view_nodebalancer'),
	(113, 'Can add config', 29, 'add_config'),
	(114, 'Can change config', 29, 'change_config'),
	(115, 'Can delete config', 29, 'delete_config'),
	(116, 'Can view config', 29, 'view_config'),
	(117, 'Can add disk', 30, 'add_disk'),
	(118, 'Can change disk', 30, 'change_disk'),
	(119, 'Can delete disk', 30, 'delete_disk'),
	(120, 'Can view disk', 30, 'view_disk'),
	(121, 'Can add instance', 31, 'add_instance'),
	(122, 'Can change instance', 31, 'change_instance'),
	(123, 'Can delete instance', 31, 'delete_instance'),
	(124, 'Can view instance', 31, 'view_instance'),
	(125, 'Can add kernel', 32, 'add_kernel'),
	(126, 'Can change kernel', 32, 'change_kernel'),
	(127, 'Can delete kernel', 32, 'delete_kernel'),
	(128, 'Can view kernel', 32, 'view_kernel'),
	(129, 'Can add address pool', 33, 'add_addresspool'),
	(130, 'Can change address pool', 33, 'change_addresspool'),
	(131, 'Can delete address pool', 33, 'delete_addresspool'),
	(132, 'Can view address pool', 33, 'view_addresspool'),
	(133, 'Can add address', 34, 'add_address'),
	(134, 'Can change address', 34, 'change_address'),
	(135, 'Can delete address', 34, 'delete_address'),
	(136, 'Can view address', 34, 'view_address'),
	(137, 'Can add config device', 35, 'add_configdevice'),
	(138, 'Can change config device', 35, 'change_configdevice'),
	(139, 'Can delete config device', 35, 'delete_configdevice'),
	(140, 'Can view config device', 35, 'view_configdevice'),
	(141, 'Can add domain', 36, 'add_domain'),
	(142, 'Can change domain', 36, 'change_domain'),
	(143, 'Can delete domain', 36, 'delete_domain'),
	(144, 'Can view domain', 36, 'view_domain'),
	(145, 'Can add domain record', 37, 'add_domainrecord'),
	(146, 'Can change domain record', 37, 'change_domainrecord'),
	(147, 'Can delete domain record', 37, 'delete_domainrecord'),
	(148, 'Can view domain record', 37, 'view_domainrecord'),
	(149, 'Can add firewall', 38, 'add_firewall'),
	(150, 'Can change firewall', 38, 'change_firewall');
INSERT INTO public.auth_permission VALUES
	(151, 'Can delete firewall', 38, 'delete_firewall'),
	(152, 'Can view firewall', 38, 'view_firewall'),
	(153, 'Can add host', 39, 'add_host'),
	(154, 'Can change host', 39, 'change_host'),
	(155, 'Can delete host', 39, 'delete_host'),
	(156, 'Can view host', 39, 'view_host'),
	(157, 'Can add image', 40, 'add_image'),
	(158, 'Can change image', 40, 'change_image'),
	(159, 'Can delete image', 40, 'delete_image'),
	(160, 'Can view image', 40, 'view_image'),
	(161, 'Can add meter', 41, 'add_meter'),
	(162, 'Can change meter', 41, 'change_meter'),
	(163, 'Can delete meter', 41, 'delete_meter'),
	(164, 'Can view meter', 41, 'view_meter'),
	(165, 'Can add packet filter', 42, 'add_packetfilter'),
	(166, 'Can change packet filter', 42, 'change_packetfilter'),
	(167, 'Can delete packet filter', 42, 'delete_packetfilter'),
	(168, 'Can view packet filter', 42, 'view_packetfilter'),
	(169, 'Can add host migration', 43, 'add_hostmigration'),
	(170, 'Can change host migration', 43, 'change_hostmigration'),
	(171, 'Can delete host migration', 43, 'delete_hostmigration'),
	(172, 'Can view host migration', 43, 'view_hostmigration'),
	(173, 'Can add firewall device', 44, 'add_firewalldevice'),
	(174, 'Can change firewall device', 44, 'change_firewalldevice'),
	(175, 'Can delete firewall device', 44, 'delete_firewalldevice'),
	(176, 'Can view firewall device', 44, 'view_firewalldevice'),
	(177, 'Can add backup', 45, 'add_backup'),
	(178, 'Can change backup', 45, 'change_backup'),
	(179, 'Can delete backup', 45, 'delete_backup'),
	(180, 'Can view backup', 45, 'view_backup'),
	(181, 'Can add alert', 46, 'add_alert'),
	(182, 'Can change alert', 46, 'change_alert'),
	(183, 'Can delete alert', 46, 'delete_alert'),
	(184, 'Can view alert', 46, 'view_alert'),
	(185, 'Can add address share', 47, 'add_addressshare'),
	(186, 'Can change address share', 47, 'change_addressshare'),
	(187, 'Can delete address share', 47, 'delete_addressshare'),
	(188, 'Can view address share', 47, 'view_addressshare'),
	(189, 'Can add instance type', 48, 'add_instancetype'),
	(190, 'Can change instance type', 48, 'change_instancetype'),
	(191, 'Can delete instance type', 48, 'delete_instancetype'),
	(192, 'Can view instance type', 48, 'view_instancetype'),
	(193, 'Can add IPv6 range', 49, 'add_ipv6range'),
	(194, 'Can change IPv6 range', 49, 'change_ipv6range'),
	(195, 'Can delete IPv6 range', 49, 'delete_ipv6range'),
	(196, 'Can view IPv6 range', 49, 'view_ipv6range'),
	(197, 'Can add config of a load balancer', 50, 'add_nodebalancerconfig'),
	(198, 'Can change config of a load balancer', 50, 'change_nodebalancerconfig'),
	(199, 'Can delete config of a load balancer', 50, 'delete_nodebalancerconfig'),
	(200, 'Can view config of a load balancer', 50, 'view_nodebalancerconfig');
INSERT INTO public.auth_permission VALUES
	(201, 'Can add node balancer node', 51, 'add_nodebalancernode'),
	(202, 'Can change node balancer node', 51, 'change_nodebalancernode'),
	(203, 'Can delete node balancer node', 51, 'delete_nodebalancernode'),
	(204, 'Can view node balancer node', 51, 'view_nodebalancernode'),
	(205, 'Can add reservation', 52, 'add_reservation'),
	(206, 'Can change reservation', 52, 'change_reservation'),
	(207, 'Can delete reservation', 52, 'delete_reservation'),
	(208, 'Can view reservation', 52, 'view_reservation'),
	(209, 'Can add sample', 53, 'add_sample'),
	(210, 'Can change sample', 53, 'change_sample'),
	(211, 'Can delete sample', 53, 'delete_sample'),
	(212, 'Can view sample', 53, 'view_sample'),
	(213, 'Can add stack script', 54, 'add_stackscript'),
	(214, 'Can change stack script', 54, 'change_stackscript'),
	(215, 'Can delete stack script', 54, 'delete_stackscript'),
	(216, 'Can view stack script', 54, 'view_stackscript'),
	(217, 'Can add transfer', 55, 'add_transfer'),
	(218, 'Can change transfer', 55, 'change_transfer'),
	(219, 'Can delete transfer', 55, 'delete_transfer'),
	(220, 'Can view transfer', 55, 'view_transfer'),
	(221, 'Can add VLAN', 56, 'add_vlan'),
	(222, 'Can change VLAN', 56, 'change_vlan'),
	(223, 'Can delete VLAN', 56, 'delete_vlan'),
	(224, 'Can view VLAN', 56, 'view_vlan'),
	(225, 'Can add volume', 57, 'add_volume'),
	(226, 'Can change volume', 57, 'change_volume'),
	(227, 'Can delete volume', 57, 'delete_volume'),
	(228, 'Can view volume', 57, 'view_volume'),
	(229, 'Can add job', 58, 'add_job'),
	(230, 'Can change job', 58, 'change_job'),
	(231, 'Can delete job', 58, 'delete_job'),
	(232, 'Can view job', 58, 'view_job'),
	(233, 'Can add volume device', 59, 'add_volumedevice'),
	(234, 'Can change volume device', 59, 'change_volumedevice'),
	(235, 'Can delete volume device', 59, 'delete_volumedevice'),
	(236, 'Can view volume device', 59, 'view_volumedevice'),
	(237, 'Can add heartbeat', 60, 'add_heartbeat'),
	(238, 'Can change heartbeat', 60, 'change_heartbeat'),
	(239, 'Can delete heartbeat', 60, 'delete_heartbeat'),
	(240, 'Can view heartbeat', 60, 'view_heartbeat'),
	(241, 'Can add seeded row', 61, 'add_seededrow'),
	(242, 'Can change seeded row', 61, 'change_seededrow'),
	(243, 'Can delete seeded row', 61, 'delete_seededrow'),
	(244, 'Can view seeded row', 61, 'view_seededrow'),
	(245, 'Can add node balancer meter', 62, 'add_nodebalancermeter'),
	(246, 'Can change node balancer meter', 62, 'change_nodebalancermeter'),
	(247, 'Can delete node balancer meter', 62, 'delete_nodebalancermeter'),
	(248, 'Can view node balancer meter', 62, 'view_nodebalancermeter'),
	(249, 'Can add node balancer sample', 63, 'add_nodebalancersample'),
	(250, 'Can change node balancer sample', 63, 'change_nodebalancersample');
INSERT INTO public.auth_permission VALUES
	(251, 'Can delete node balancer sample', 63, 'delete_nodebalancersample'),
	(252, 'Can view node balancer sample', 63, 'view_nodebalancersample'),
	(253, 'Can add node balancer transfer', 64, 'add_nodebalancertransfer'),
	(254, 'Can change node balancer transfer', 64, 'change_nodebalancertransfer'),
	(255, 'Can delete node balancer transfer', 64, 'delete_nodebalancertransfer'),
	(256, 'Can view node balancer transfer', 64, 'view_nodebalancertransfer'),
	(257, 'Can add compute settings', 65, 'add_computesettings'),
	(258, 'Can change compute settings', 65, 'change_computesettings'),
	(259, 'Can delete compute settings', 65, 'delete_computesettings'),
	(260, 'Can view compute settings', 65, 'view_computesettings'),
	(261, 'Can add key pair', 66, 'add_keypair'),
	(262, 'Can change key pair', 66, 'change_keypair'),
	(263, 'Can delete key pair', 66, 'delete_keypair'),
	(264, 'Can view key pair', 66, 'view_keypair'),
	(265, 'Can read private keys', 66, 'decrypt_keypair'),
	(266, 'Can add contact', 67, 'add_contact'),
	(267, 'Can change contact', 67, 'change_contact'),
	(268, 'Can delete contact', 67, 'delete_contact'),
	(269, 'Can view contact', 67, 'view_contact'),
	(270, 'Can add credential', 68, 'add_credential'),
	(271, 'Can change credential', 68, 'change_credential'),
	(272, 'Can delete credential', 68, 'delete_credential'),
	(273, 'Can view credential', 68, 'view_credential'),
	(274, 'Can read what credentials hold', 68, 'decrypt_credential'),
	(275, 'Can add issue', 69, 'add_issue'),
	(276, 'Can change issue', 69, 'change_issue'),
	(277, 'Can delete issue', 69, 'delete_issue'),
	(278, 'Can view issue', 69, 'view_issue'),
	(279, 'Can add decryption', 70, 'add_decryption'),
	(280, 'Can change decryption', 70, 'change_decryption'),
	(281, 'Can delete decryption', 70, 'delete_decryption'),
	(282, 'Can view decryption', 70, 'view_decryption'),
	(283, 'Can add service', 71, 'add_service'),
	(284, 'Can change service', 71, 'change_service'),
	(285, 'Can delete service', 71, 'delete_service'),
	(286, 'Can view service', 71, 'view_service'),
	(287, 'Can add measurement', 72, 'add_measurement'),
	(288, 'Can change measurement', 72, 'change_measurement'),
	(289, 'Can delete measurement', 72, 'delete_measurement'),
	(290, 'Can view measurement', 72, 'view_measurement'),
	(291, 'Can add log entry', 73, 'add_logentry'),
	(292, 'Can change log entry', 73, 'change_logentry'),
	(293, 'Can delete log entry', 73, 'delete_logentry'),
	(294, 'Can view log entry', 73, 'view_logentry'),
	(295, 'Can add permission', 74, 'add_permission'),
	(296, 'Can change permission', 74, 'change_permission'),
	(297, 'Can delete permission', 74, 'delete_permission'),
	(298, 'Can view permission', 74, 'view_permission'),
	(299, 'Can add group', 75, 'add_group'),
	(300, 'Can change group', 75, 'change_group');
INSERT INTO public.auth_permission VALUES
	(301, 'Can delete group', 75, 'delete_group'),
	(302, 'Can view group', 75, 'view_group'),
	(303, 'Can add content type', 76, 'add_contenttype'),
	(304, 'Can change content type', 76, 'change_contenttype'),
	(305, 'Can delete content type', 76, 'delete_contenttype'),
	(306, 'Can view content type', 76, 'view_contenttype'),
	(307, 'Can add session', 77, 'add_session'),
	(308, 'Can change session', 77, 'change_session'),
	(309, 'Can delete session', 77, 'delete_session'),
	(310, 'Can view session', 77, 'view_session'),
	(311, 'Can add device grant', 78, 'add_devicegrant'),
	(312, 'Can change device grant', 78, 'change_devicegrant'),
	(313, 'Can delete device grant', 78, 'delete_devicegrant'),
	(314, 'Can view device grant', 78, 'view_devicegrant');
INSERT INTO public.compute_address VALUES
	(7, '198.18.0.8', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(8, '198.18.0.9', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(9, '198.18.0.10', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(10, '198.18.0.11', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(11, '198.18.0.12', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(12, '198.18.0.13', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(13, '198.18.0.14', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(14, '198.18.0.15', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(15, '198.18.0.16', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(16, '198.18.0.17', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(17, '198.18.0.18', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(18, '198.18.0.19', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(19, '198.18.0.20', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(20, '198.18.0.21', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(21, '198.18.0.22', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(22, '198.18.0.23', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(23, '198.18.0.24', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(24, '198.18.0.25', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(25, '198.18.0.26', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(26, '198.18.0.27', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(27, '198.18.0.28', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(28, '198.18.0.29', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(29, '198.18.0.30', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(30, '198.18.0.31', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(31, '198.18.0.32', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(32, '198.18.0.33', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(33, '198.18.0.34', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(34, '198.18.0.35', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(35, '198.18.0.36', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(36, '198.18.0.37', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(37, '198.18.0.38', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(38, '198.18.0.39', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(39, '198.18.0.40', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(40, '198.18.0.41', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(41, '198.18.0.42', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(42, '198.18.0.43', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(43, '198.18.0.44', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(44, '198.18.0.45', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(45, '198.18.0.46', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(46, '198.18.0.47', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(47, '198.18.0.48', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(48, '198.18.0.49', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(49, '198.18.0.50', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(50, '198.18.0.51', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(51, '198.18.0.52', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(52, '198.18.0.53', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(53, '198.18.0.54', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(54, '198.18.0.55', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(55, '198.18.0.56', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(56, '198.18.0.57', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL);
INSERT INTO public.compute_address VALUES
	(57, '198.18.0.58', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(58, '198.18.0.59', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, NULL),
	(59, '10.0.0.2', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(60, '10.0.0.3', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(61, '10.0.0.4', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(62, '10.0.0.5', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(63, '10.0.0.6', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(64, '10.0.0.7', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(65, '10.0.0.8', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(67, '10.0.0.10', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(68, '10.0.0.11', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(69, '10.0.0.12', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(70, '10.0.0.13', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(71, '10.0.0.14', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(72, '10.0.0.15', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(73, '10.0.0.16', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(74, '10.0.0.17', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(75, '10.0.0.18', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(76, '10.0.0.19', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(77, '10.0.0.20', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(78, '10.0.0.21', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(79, '10.0.0.22', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(80, '10.0.0.23', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(81, '10.0.0.24', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(82, '10.0.0.25', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(83, '10.0.0.26', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(84, '10.0.0.27', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(85, '10.0.0.28', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(86, '10.0.0.29', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(87, '10.0.0.30', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(88, '10.0.0.31', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(89, '10.0.0.32', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(90, '10.0.0.33', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(91, '10.0.0.34', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(92, '10.0.0.35', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(93, '10.0.0.36', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(94, '10.0.0.37', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(95, '10.0.0.38', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(96, '10.0.0.39', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(97, '10.0.0.40', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(66, '10.0.0.9', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, 1),
	(3, '198.18.0.4', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 2),
	(4, '198.18.0.5', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 3),
	(5, '198.18.0.6', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 4),
	(6, '198.18.0.7', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 5),
	(98, '10.0.0.41', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(99, '10.0.0.42', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(100, '10.0.0.43', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(101, '10.0.0.44', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(102, '10.0.0.45', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL);
INSERT INTO public.compute_address VALUES
	(103, '10.0.0.46', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(104, '10.0.0.47', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(105, '10.0.0.48', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(106, '10.0.0.49', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(107, '10.0.0.50', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(108, '10.0.0.51', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(109, '10.0.0.52', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(110, '10.0.0.53', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(111, '10.0.0.54', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(112, '10.0.0.55', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(113, '10.0.0.56', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(114, '10.0.0.57', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(115, '10.0.0.58', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(116, '10.0.0.59', 24, '10.0.0.1', false, NULL, NULL, 'us-test', 2, NULL, NULL),
	(1, '198.18.0.2', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 1),
	(2, '198.18.0.3', 24, '198.18.0.1', true, NULL, NULL, 'us-test', 1, NULL, 1);
INSERT INTO public.compute_addresspool VALUES
	(1, 'public', '198.18.0.0/24', '198.18.0.1', '2026-11-22 20:03:04.299649+00', 'us-test'),
	(2, 'private', '10.0.0.0/24', '10.0.0.1', '2026-11-22 20:03:04.306257+00', 'us-test'),
	(3, 'slaac', '2001:db8:77::/64', 'fe80::1', '2026-11-22 20:03:04.313297+00', 'us-test'),
	(4, 'routed', '2001:db8:5000::/40', '::1', '2026-11-22 20:03:04.335427+00', 'us-test');
INSERT INTO public.compute_backup VALUES
	(1, 'snapshot', NULL, 'successful', NULL, '{}', '[]', '[]', NULL, '', '2026-11-22 20:03:04.324882+00', '2026-11-22 20:03:04.32489+00', NULL, 1, 'us-test', 1);
INSERT INTO public.compute_config VALUES
	(1, 'profile0', '', 0, 'default', 'paravirt', '/dev/sda', '{"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}', '[]', false, '2026-11-22 20:03:04.322071+00', '2026-11-22 20:03:04.322079+00', 1, 'compute/latest-64bit'),
	(2, 'My Test 11 Disk Profile', '', 0, 'default', 'paravirt', '/dev/sda', '{"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}', '[{"label": "back", "purpose": "vlan", "ipam_address": ""}]', false, '2026-11-22 20:03:04.611026+00', '2026-11-22 20:03:04.611027+00', 2, 'compute/grub2'),
	(3, 'My Test 11 Disk Profile', '', 0, 'default', 'paravirt', '/dev/sda', '{"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}', '[]', false, '2026-11-22 20:03:10.634661+00', '2026-11-22 20:03:10.634662+00', 3, 'compute/grub2'),
	(4, 'My Test 11 Disk Profile', '', 0, 'default', 'paravirt', '/dev/sda', '{"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}', '[]', false, '2026-11-22 20:03:10.765488+00', '2026-11-22 20:03:10.76549+00', 4, 'compute/grub2'),
	(5, 'My Test 11 Disk Profile', '', 0, 'default', 'paravirt', '/dev/sda', '{"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}', '[]', false, '2026-11-22 20:03:10.821448+00', '2026-11-22 20:03:10.821449+00', 5, 'compute/grub2');
INSERT INTO public.compute_configdevice VALUES
	(1, 'sda', 1, 1),
	(2, 'sda', 2, 2),
	(3, 'sdb', 2, 3),
	(4, 'sda', 3, 4),
	(5, 'sdb', 3, 5),
	(6, 'sda', 4, 6),
	(7, 'sdb', 4, 7),
	(8, 'sda', 5, 8),
	(9, 'sdb', 5, 9);
INSERT INTO public.compute_disk VALUES
	(1, 'disk0', 1000, 'ext4', 'ready', '2026-11-22 20:03:04.319695+00', '2026-11-22 20:03:04.319703+00', NULL, 1, NULL),
	(4, 'Test 11 Disk', 25088, 'ext4', 'ready', '2026-11-22 20:03:10.634607+00', '2026-11-22 20:03:10.634608+00', 'compute/test11', 3, NULL),
	(5, '512MB Swap Image', 512, 'swap', 'ready', '2026-11-22 20:03:10.634611+00', '2026-11-22 20:03:10.634612+00', NULL, 3, NULL),
	(2, 'Test 11 Disk', 25088, 'ext4', 'ready', '2026-11-22 20:03:04.610954+00', '2026-11-22 20:03:04.610955+00', 'compute/test11', 2, NULL),
	(3, '512MB Swap Image', 512, 'swap', 'ready', '2026-11-22 20:03:04.610958+00', '2026-11-22 20:03:04.61096+00', NULL, 2, NULL),
	(6, 'Test 11 Disk', 25088, 'ext4', 'ready', '2026-11-22 20:03:10.765429+00', '2026-11-22 20:03:10.765431+00', 'compute/test11', 4, NULL),
	(7, '512MB Swap Image', 512, 'swap', 'ready', '2026-11-22 20:03:10.765434+00', '2026-11-22 20:03:10.765435+00', NULL, 4, NULL),
	(8, 'Test 11 Disk', 25088, 'ext4', 'not ready', '2026-11-22 20:03:10.82139+00', '2026-11-22 20:03:10.821391+00', 'compute/test11', 5, NULL),
	(9, '512MB Swap Image', 512, 'swap', 'not ready', '2026-11-22 20:03:10.821394+00', '2026-11-22 20:03:10.821395+00', NULL, 5, NULL);
INSERT INTO public.compute_domain VALUES
	(1, 'zone0.example.com', 'master', 'active', '', '', 'dns@example.com', '{}', '{}', 0, 0, 0, 0, '{}', 0, '2026-11-22 20:03:04.350241+00', '2026-11-22 20:03:04.350249+00', 1);
INSERT INTO public.compute_domainrecord VALUES
	(1, 'A', 'host0', '203.0.113.7', 0, 0, 0, NULL, NULL, 0, NULL, '2026-11-22 20:03:04.351794+00', '2026-11-22 20:03:04.351802+00', 1);
INSERT INTO public.compute_firewall VALUES
	(1, 'firewall0', 'enabled', '{"inbound": [], "outbound": [], "inbound_policy": "ACCEPT", "outbound_policy": "ACCEPT"}', '{}', '2026-11-22 20:03:04.363458+00', '2026-11-22 20:03:04.363466+00', 1);
INSERT INTO public.compute_firewalldevice VALUES
	(1, true, '2026-11-22 20:03:04.364565+00', '2026-11-22 20:03:04.364573+00', 1, 1);
INSERT INTO public.compute_host VALUES
	(1, 'e335dde4-a63f-4bc5-b24c-95b91915661b', 'us-test-h1', true, NULL, 4194304, 4096, 268435456, 4096, 4, 51200, '2026-11-22 20:03:04.298153+00', 'us-test', NULL, '', NULL),
	(2, '0e37e150-f483-42a5-a5b5-7930e17ac382', 'host0', true, NULL, 4194304, 4096, 268435456, 4096, 4, 51200, '2026-11-22 20:03:04.562003+00', 'us-test', NULL, '', NULL);
INSERT INTO public.compute_hostmigration VALUES
	(1, 'pending', '', '2026-11-22 20:03:04.562854+00', '2026-11-22 20:03:04.563111+00', 1);
INSERT INTO public.compute_image VALUES
	('compute/test11', NULL, 'Test 11', 'Test', NULL, 1300, true, false, 'manual', 'available', '2026-11-22 20:03:04.295+00', NULL, NULL, NULL, NULL, NULL),
	('private/77', 77, 'Made 0', NULL, NULL, 1300, false, false, 'manual', 'available', '2026-11-22 20:03:04.337857+00', NULL, NULL, NULL, NULL, 1);
INSERT INTO public.compute_instance VALUES
	(1, 'instance0', 'offline', '', '{}', '{198.18.0.2,198.18.0.3}', '2001:db8:77::1/128', 180, 10000, 10, 10, 80, true, false, NULL, NULL, NULL, true, '2026-11-22 20:03:04.317425+00', '2026-11-22 20:03:04.317433+00', 1, NULL, 1, NULL, 'us-test', 'g6-test-2'),
	(3, 'running', 'running', '', '{}', '{198.18.0.5}', '2001:db8:77:0:f03c:ff:fe00:3/128', 180, 10000, 10, 10, 80, false, false, NULL, NULL, NULL, true, '2026-11-22 20:03:10.634511+00', '2026-11-22 20:03:10.728372+00', 1, 3, 2, 'compute/test11', 'us-test', 'g6-test-2'),
	(2, 'networked', 'running', '', '{}', '{198.18.0.4}', '2001:db8:77:0:f03c:ff:fe00:2/128', 180, 10000, 10, 10, 80, false, false, NULL, NULL, NULL, true, '2026-11-22 20:03:04.61081+00', '2026-11-22 20:03:10.758401+00', 1, 2, 1, 'compute/test11', 'us-test', 'g6-test-2'),
	(5, 'at work', 'provisioning', '', '{}', '{198.18.0.7}', '2001:db8:77:0:f03c:ff:fe00:5/128', 180, 10000, 10, 10, 80, false, false, NULL, NULL, NULL, true, '2026-11-22 20:03:10.821297+00', '2026-11-22 20:03:10.821299+00', 1, NULL, 2, 'compute/test11', 'us-test', 'g6-test-2'),
	(4, 'stopped', 'booting', '', '{}', '{198.18.0.6}', '2001:db8:77:0:f03c:ff:fe00:4/128', 180, 10000, 10, 10, 80, false, false, NULL, NULL, NULL, true, '2026-11-22 20:03:10.765336+00', '2026-11-22 20:03:10.830794+00', 1, 4, 1, 'compute/test11', 'us-test', 'g6-test-2');
INSERT INTO public.compute_instancetype VALUES
	('g6-test-2', 'Test 2GB', 'standard', 2048, 25600, 2, 0, 1000, 1000, 0.01, 5, NULL, 2.5, false, NULL);
INSERT INTO public.compute_ipv6range VALUES
	(1, 'range', '2001:db8:5000::', 64, NULL, '2026-11-22 20:03:04.336347+00', 1, 1, 4, 'us-test'),
	(2, 'pool', '2001:db8:5000:1::', 116, NULL, '2026-11-22 20:03:04.582117+00', 1, NULL, 4, 'us-test');
INSERT INTO public.compute_job VALUES
	(2, 'provision', 'done', 'boot', '{"boot": true, "config": 3, "version": 1}', NULL, '', false, 0, 1, 'worldowner', '2026-11-22 20:03:10.635621+00', '2026-11-22 20:03:10.71379+00', NULL, NULL, '2026-11-22 21:03:10.634217+00', '2026-11-22 20:03:10.728372+00', 5, 3, NULL, NULL),
	(1, 'provision', 'done', 'boot', '{"boot": true, "config": 2, "version": 1}', NULL, '', false, 0, 1, 'worldowner', '2026-11-22 20:03:04.612041+00', '2026-11-22 20:03:10.748428+00', NULL, NULL, '2026-11-22 21:03:04.610519+00', '2026-11-22 20:03:10.758401+00', 6, 2, NULL, NULL),
	(4, 'shutdown', 'done', 'stop', '{"version": 1}', NULL, '', false, 1, 1, 'worldowner', '2026-11-22 20:03:10.808303+00', '2026-11-22 20:03:10.808303+00', '2026-11-22 20:03:10.807769+00', NULL, '2026-11-22 21:03:10.807769+00', '2026-11-22 20:03:10.814214+00', 9, 4, NULL, NULL),
	(3, 'provision', 'done', 'boot', '{"boot": true, "config": 4, "version": 1}', NULL, '', false, 0, 1, 'worldowner', '2026-11-22 20:03:10.766586+00', '2026-11-22 20:03:10.789703+00', NULL, NULL, '2026-11-22 21:03:10.764961+00', '2026-11-22 20:03:10.801325+00', 8, 4, NULL, NULL),
	(5, 'provision', 'active', 'define', '{"boot": true, "config": 5, "version": 1}', '\x67414141414142724130702d4b5a61525679353442324871634662686f6d6c36776f497444695f59446951555a45566e5f5a4f4a706c4d506462674c766f734f675a5871455170334a4d4962567230334a7442793345635f6156666c71662d6d467153446a4364726b424c4572544441486a534f443163304f7a464f673852734a6e31444e514551724a49635a4249684d6e746d4f4a6e57664b3762356c5f2d70673d3d', '', false, 0, 0, 'worldowner', '2026-11-22 20:03:10.822511+00', '2026-11-22 20:03:10.822511+00', '2026-11-22 20:03:10.820955+00', NULL, '2026-11-22 21:03:10.820955+00', NULL, 10, 5, NULL, NULL),
	(6, 'boot', 'active', 'start', '{"config": 4, "version": 1}', NULL, '', false, 0, 0, 'worldowner', '2026-11-22 20:03:10.832893+00', '2026-11-22 20:03:10.832893+00', '2026-11-22 20:03:10.832458+00', NULL, '2026-11-22 21:03:10.832458+00', NULL, 11, 4, NULL, NULL);
INSERT INTO public.compute_kernel VALUES
	('compute/grub2', 'compute/grub2', '1', true, false, 'x86_64', true, false, NULL),
	('compute/latest-64bit', 'compute/latest-64bit', '1', true, false, 'x86_64', true, false, NULL);
INSERT INTO public.compute_nodebalancer VALUES
	(1, 'balancer0', 'nb-0.example.com', '203.0.113.0', NULL, 0, '{}', 1, '2026-11-22 20:03:04.358235+00', '2026-11-22 20:03:04.358243+00', 1, 'us-test');
INSERT INTO public.compute_nodebalancerconfig VALUES
	(1, 40000, 'http', 'roundrobin', 'none', 'none', 31, 30, 3, '', '', true, 'none', 'recommended', NULL, NULL, '', '', '2026-11-22 20:03:04.359874+00', '2026-11-22 20:03:04.359881+00', 1);
INSERT INTO public.compute_nodebalancernode VALUES
	(1, 'node', '10.0.0.2:80', 50, 'accept', 'Unknown', '2026-11-22 20:03:04.361077+00', '2026-11-22 20:03:04.361084+00', 1, 1);
INSERT INTO public.compute_nodebalancersample VALUES
	(1, '2026-11-22 20:03:04.567024+00', 0, 0, 0, 1);
INSERT INTO public.compute_reservation VALUES
	(1, 2048, 2, 25600, 1, 2),
	(2, 2048, 2, 25600, 2, 3),
	(3, 2048, 2, 25600, 1, 4),
	(4, 2048, 2, 25600, 2, 5);
INSERT INTO public.compute_sample VALUES
	(1, 300, '2026-11-22 20:03:04.568855+00', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
	(2, 300, '2026-03-04 00:00:00+00', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
INSERT INTO public.compute_stackscript VALUES
	(1, 'owner', 'script0', '', '{any/all}', false, '', '#!/bin/sh
', '[]', 0, 0, '', '2026-11-22 20:03:04.339237+00', '2026-11-22 20:03:04.339344+00', 1);
INSERT INTO public.compute_vlan VALUES
	(1, 'back', '2026-11-22 20:03:04.60841+00', 1, 'us-test');
INSERT INTO public.compute_volume VALUES
	(1, 'volume0', 20, 'active', 'nvme', '{}', '2026-11-22 20:03:04.340807+00', '2026-11-22 20:03:04.340815+00', 1, 1, 'us-test');
INSERT INTO public.django_content_type VALUES
	(1, 'accounts', 'oauthclient'),
	(2, 'accounts', 'user'),
	(3, 'accounts', 'account'),
	(4, 'accounts', 'oauthidtoken'),
	(5, 'accounts', 'oauthaccesstoken'),
	(6, 'accounts', 'oauthrefreshtoken'),
	(7, 'accounts', 'globalgrants'),
	(8, 'accounts', 'phoneverification'),
	(9, 'accounts', 'secondfactor'),
	(10, 'accounts', 'oauthgrant'),
	(11, 'accounts', 'authorization'),
	(12, 'accounts', 'event'),
	(13, 'accounts', 'externalidentity'),
	(14, 'accounts', 'grant'),
	(15, 'accounts', 'login'),
	(16, 'accounts', 'message'),
	(17, 'accounts', 'personaltoken'),
	(18, 'accounts', 'preferences'),
	(19, 'accounts', 'securityanswer'),
	(20, 'accounts', 'sshkey'),
	(21, 'accounts', 'ticket'),
	(22, 'accounts', 'ticketattachment'),
	(23, 'accounts', 'ticketreply'),
	(24, 'accounts', 'trusteddevice'),
	(25, 'regions', 'region'),
	(26, 'tags', 'tag'),
	(27, 'tags', 'tagging'),
	(28, 'compute', 'nodebalancer'),
	(29, 'compute', 'config'),
	(30, 'compute', 'disk'),
	(31, 'compute', 'instance'),
	(32, 'compute', 'kernel'),
	(33, 'compute', 'addresspool'),
	(34, 'compute', 'address'),
	(35, 'compute', 'configdevice'),
	(36, 'compute', 'domain'),
	(37, 'compute', 'domainrecord'),
	(38, 'compute', 'firewall'),
	(39, 'compute', 'host'),
	(40, 'compute', 'image'),
	(41, 'compute', 'meter'),
	(42, 'compute', 'packetfilter'),
	(43, 'compute', 'hostmigration'),
	(44, 'compute', 'firewalldevice'),
	(45, 'compute', 'backup'),
	(46, 'compute', 'alert'),
	(47, 'compute', 'addressshare'),
	(48, 'compute', 'instancetype'),
	(49, 'compute', 'ipv6range'),
	(50, 'compute', 'nodebalancerconfig');
INSERT INTO public.django_content_type VALUES
	(51, 'compute', 'nodebalancernode'),
	(52, 'compute', 'reservation'),
	(53, 'compute', 'sample'),
	(54, 'compute', 'stackscript'),
	(55, 'compute', 'transfer'),
	(56, 'compute', 'vlan'),
	(57, 'compute', 'volume'),
	(58, 'compute', 'job'),
	(59, 'compute', 'volumedevice'),
	(60, 'compute', 'heartbeat'),
	(61, 'compute', 'seededrow'),
	(62, 'compute', 'nodebalancermeter'),
	(63, 'compute', 'nodebalancersample'),
	(64, 'compute', 'nodebalancertransfer'),
	(65, 'managed', 'computesettings'),
	(66, 'managed', 'keypair'),
	(67, 'managed', 'contact'),
	(68, 'managed', 'credential'),
	(69, 'managed', 'issue'),
	(70, 'managed', 'decryption'),
	(71, 'managed', 'service'),
	(72, 'managed', 'measurement'),
	(73, 'admin', 'logentry'),
	(74, 'auth', 'permission'),
	(75, 'auth', 'group'),
	(76, 'contenttypes', 'contenttype'),
	(77, 'sessions', 'session'),
	(78, 'oauth2_provider', 'devicegrant');
INSERT INTO public.django_migrations VALUES
	(1, 'contenttypes', '0001_initial', '2026-11-22 20:03:03.286642+00'),
	(2, 'contenttypes', '0002_remove_content_type_name', '2026-11-22 20:03:03.28667+00'),
	(3, 'auth', '0001_initial', '2026-11-22 20:03:03.286679+00'),
	(4, 'auth', '0002_alter_permission_name_max_length', '2026-11-22 20:03:03.286685+00'),
	(5, 'auth', '0003_alter_user_email_max_length', '2026-11-22 20:03:03.28669+00'),
	(6, 'auth', '0004_alter_user_username_opts', '2026-11-22 20:03:03.286694+00'),
	(7, 'auth', '0005_alter_user_last_login_null', '2026-11-22 20:03:03.286701+00'),
	(8, 'auth', '0006_require_contenttypes_0002', '2026-11-22 20:03:03.286705+00'),
	(9, 'auth', '0007_alter_validators_add_error_messages', '2026-11-22 20:03:03.28671+00'),
	(10, 'auth', '0008_alter_user_username_max_length', '2026-11-22 20:03:03.286714+00'),
	(11, 'auth', '0009_alter_user_last_name_max_length', '2026-11-22 20:03:03.286717+00'),
	(12, 'auth', '0010_alter_group_name_max_length', '2026-11-22 20:03:03.286721+00'),
	(13, 'auth', '0011_update_proxy_permissions', '2026-11-22 20:03:03.286725+00'),
	(14, 'auth', '0012_alter_user_first_name_max_length', '2026-11-22 20:03:03.286728+00'),
	(15, 'accounts', '0001_initial', '2026-11-22 20:03:03.286732+00'),
	(16, 'admin', '0001_initial', '2026-11-22 20:03:03.286735+00'),
	(17, 'admin', '0002_logentry_remove_auto_add', '2026-11-22 20:03:03.286741+00'),
	(18, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-22 20:03:03.286744+00'),
	(19, 'regions', '0001_initial', '2026-11-22 20:03:03.286748+00'),
	(20, 'compute', '0001_initial', '2026-11-22 20:03:03.286752+00'),
	(21, 'compute', '0002_unreachable_hosts_and_heartbeats', '2026-11-22 20:03:03.286755+00'),
	(22, 'compute', '0003_seeded_rows', '2026-11-22 20:03:03.286759+00'),
	(23, 'managed', '0001_initial', '2026-11-22 20:03:03.286762+00'),
	(24, 'oauth2_provider', '0001_initial', '2026-11-22 20:03:03.286766+00'),
	(25, 'oauth2_provider', '0002_auto_20190406_1805', '2026-11-22 20:03:03.286769+00'),
	(26, 'oauth2_provider', '0003_auto_20201211_1314', '2026-11-22 20:03:03.286773+00'),
	(27, 'oauth2_provider', '0004_auto_20200902_2022', '2026-11-22 20:03:03.286777+00'),
	(28, 'oauth2_provider', '0005_auto_20211222_2352', '2026-11-22 20:03:03.28678+00'),
	(29, 'oauth2_provider', '0006_alter_application_client_secret', '2026-11-22 20:03:03.286784+00'),
	(30, 'oauth2_provider', '0007_application_post_logout_redirect_uris', '2026-11-22 20:03:03.286788+00'),
	(31, 'oauth2_provider', '0008_alter_accesstoken_token', '2026-11-22 20:03:03.286792+00'),
	(32, 'oauth2_provider', '0009_add_hash_client_secret', '2026-11-22 20:03:03.286795+00'),
	(33, 'oauth2_provider', '0010_application_allowed_origins', '2026-11-22 20:03:03.286799+00'),
	(34, 'oauth2_provider', '0011_refreshtoken_token_family', '2026-11-22 20:03:03.286804+00'),
	(35, 'oauth2_provider', '0012_add_token_checksum', '2026-11-22 20:03:03.286808+00'),
	(36, 'oauth2_provider', '0013_alter_application_authorization_grant_type_device', '2026-11-22 20:03:03.286812+00'),
	(37, 'oauth2_provider', '0014_alter_help_text', '2026-11-22 20:03:03.286816+00'),
	(38, 'oauth2_provider', '0015_refreshtoken_token_checksum', '2026-11-22 20:03:03.286819+00'),
	(39, 'oauth2_provider', '0016_alter_devicegrant_scope', '2026-11-22 20:03:03.286823+00'),
	(40, 'oauth2_provider', '0017_application_dcr_created', '2026-11-22 20:03:03.286826+00'),
	(41, 'oauth2_provider', '0018_resource_indicators', '2026-11-22 20:03:03.28683+00'),
	(42, 'oauth2_provider', '0019_application_registration_source', '2026-11-22 20:03:03.286834+00'),
	(43, 'oauth2_provider', '0020_cimd_application_fields', '2026-11-22 20:03:03.286837+00'),
	(44, 'oauth2_provider', '0021_translatable_field_labels', '2026-11-22 20:03:03.286841+00'),
	(45, 'oauth2_provider', '0022_refreshtoken_token_family_index', '2026-11-22 20:03:03.286845+00'),
	(46, 'regions', '0002_retired', '2026-11-22 20:03:03.286848+00'),
	(47, 'sessions', '0001_initial', '2026-11-22 20:03:03.286851+00'),
	(48, 'tags', '0001_initial', '2026-11-22 20:03:03.286854+00'),
	(49, 'accounts', '0002_encrypted', '2026-11-22 20:03:03.722817+00'),
	(50, 'accounts', '0003_message_lease', '2026-11-22 20:03:03.729719+00');
INSERT INTO public.django_migrations VALUES
	(51, 'compute', '0004_notified_at', '2026-11-22 20:03:03.773676+00'),
	(52, 'compute', '0005_nodebalancer_tables', '2026-11-22 20:03:04.037746+00'),
	(53, 'compute', '0006_encrypted', '2026-11-22 20:03:04.118528+00'),
	(54, 'managed', '0002_encrypted', '2026-11-22 20:03:04.185941+00');
INSERT INTO public.managed_contact VALUES
	(1, 'Contact 0', 'contact0@example.com', NULL, NULL, NULL, '2026-11-22 20:03:04.553727+00', 1);
INSERT INTO public.managed_credential VALUES
	(1, 'credential 0', '\x6741414141414272413070345561566e764f305964747356506948585a6b4367636b525669446c7457536d545434433958752d5642476d725a4a2d6e336755513469716c66576432396475356b4356346e6b614d3736597364763853673742576448474f445056515958647272486e3475664c63305568376f356f5075794b6f653250587339746e70454579674553433448536e64336830737a366c304e683466673d3d', '2026-11-22 20:03:04.556628+00', NULL, 1);
INSERT INTO public.managed_issue VALUES
	(1, '{}', '2026-11-22 20:03:04.56061+00', NULL, 1, 2);
INSERT INTO public.managed_service VALUES
	(1, 'service 0', 'url', 'https://service0.example.com/', 10, NULL, '', NULL, 'pending', '2026-11-22 20:03:04.557944+00', '2026-11-22 20:03:04.557952+00', '2026-11-22 20:03:04.558376+00', NULL, 0, NULL, 0, '', 1, NULL, NULL);
INSERT INTO public.regions_region VALUES
	('us-test', 'us', '{Computes,NodeBalancers,Vlans}', 'ok', '', '', false);
INSERT INTO public.tags_tag VALUES
	(1, 'tagged', '2026-11-22 20:03:04.353311+00', 1);
INSERT INTO public.tags_tagging VALUES
	(1, 'domain', 1, 1);
INSERT INTO simulated.disk VALUES
	('skerry-3', 'skerry-3-disk-4', 25088, 'ext4', 'compute/test11', 'scrypt$3f8422094a029a556095aa4a3f4da77b$8380d9f4032f95bf7b174ad0bf1762ccb960858c29446163ace02ace212743a52932dd49c4d4f1e3d4cffdb744cdb74a8d209c2fea5d3ea5882abe54833b84ee', '{}', '2026-11-22 20:03:10.705431+00', '2026-11-22 20:03:10.705431+00', 920, NULL),
	('skerry-3', 'skerry-3-disk-5', 512, 'swap', NULL, NULL, '{}', '2026-11-22 20:03:10.712801+00', '2026-11-22 20:03:10.712801+00', 0, NULL),
	('skerry-2', 'skerry-2-disk-2', 25088, 'ext4', 'compute/test11', 'scrypt$23dc3ac6bce6563e3833a343d6326a3a$cfa3809fa699c537ba33f3894fbabc0c24d6bd2b718886b953007d0a67899843ac7daf2f1e4297907c2f5d40ab89a88da1efd7ea4c32efe647e1f0e9070d45c8', '{}', '2026-11-22 20:03:10.741174+00', '2026-11-22 20:03:10.741174+00', 920, NULL),
	('skerry-2', 'skerry-2-disk-3', 512, 'swap', NULL, NULL, '{}', '2026-11-22 20:03:10.747534+00', '2026-11-22 20:03:10.747534+00', 0, NULL),
	('skerry-4', 'skerry-4-disk-6', 25088, 'ext4', 'compute/test11', 'scrypt$df2703c735e1851735441a586ccd6fe3$1ec5d51dc8076250b80b9a43953a015988a614b601063640b59fd54fe604af3c54222f4afd689ee447df32ffcd1696c4ab294f4d2a617b89c1919c1b0d652422', '{}', '2026-11-22 20:03:10.781606+00', '2026-11-22 20:03:10.781606+00', 920, NULL),
	('skerry-4', 'skerry-4-disk-7', 512, 'swap', NULL, NULL, '{}', '2026-11-22 20:03:10.78841+00', '2026-11-22 20:03:10.78841+00', 0, NULL);
INSERT INTO simulated.machine VALUES
	('skerry-3', '0e37e150-f483-42a5-a5b5-7930e17ac382', 2048, 2, 'f2:3c:00:00:00:03', 'on', '2026-11-22 20:03:10.72453+00', '2026-11-22 20:03:10.72453+00', NULL, '{"ipv4": ["198.18.0.5"], "ipv6": "2001:db8:77:0:f03c:ff:fe00:3/128", "kernel": "compute/grub2", "memory": 2048, "rescue": false, "devices": {"sda": "skerry-3-disk-4", "sdb": "skerry-3-disk-5"}, "helpers": {"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}, "volumes": {}, "firewall": null, "run_level": "default", "virt_mode": "paravirt", "interfaces": [], "root_device": "/dev/sda"}', 1, NULL, NULL, 0, '', 0, '{}'),
	('skerry-2', 'e335dde4-a63f-4bc5-b24c-95b91915661b', 2048, 2, 'f2:3c:00:00:00:02', 'on', '2026-11-22 20:03:10.756565+00', '2026-11-22 20:03:10.756565+00', NULL, '{"ipv4": ["198.18.0.4"], "ipv6": "2001:db8:77:0:f03c:ff:fe00:2/128", "kernel": "compute/grub2", "memory": 2048, "rescue": false, "devices": {"sda": "skerry-2-disk-2", "sdb": "skerry-2-disk-3"}, "helpers": {"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}, "volumes": {}, "firewall": null, "run_level": "default", "virt_mode": "paravirt", "interfaces": [{"label": "back", "purpose": "vlan", "ipam_address": ""}], "root_device": "/dev/sda"}', 1, NULL, NULL, 0, '', 0, '{}'),
	('skerry-4', 'e335dde4-a63f-4bc5-b24c-95b91915661b', 2048, 2, 'f2:3c:00:00:00:04', 'off', '2026-11-22 20:03:10.812287+00', '2026-11-22 20:03:10.812287+00', NULL, '{"ipv4": ["198.18.0.6"], "ipv6": "2001:db8:77:0:f03c:ff:fe00:4/128", "kernel": "compute/grub2", "memory": 2048, "rescue": false, "devices": {"sda": "skerry-4-disk-6", "sdb": "skerry-4-disk-7"}, "helpers": {"distro": true, "network": true, "modules_dep": true, "updatedb_disabled": true, "devtmpfs_automount": true}, "volumes": {}, "firewall": null, "run_level": "default", "virt_mode": "paravirt", "interfaces": [], "root_device": "/dev/sda"}', 1, NULL, NULL, 0.013268, '', 0, '{}');
SELECT pg_catalog.setval('public.accounts_account_id_seq', 2, true);
SELECT pg_catalog.setval('public.accounts_authorization_id_seq', 6, true);
SELECT pg_catalog.setval('public.accounts_event_id_seq', 11, true);
SELECT pg_catalog.setval('public.accounts_externalidentity_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_grant_id_seq', 14, true);
SELECT pg_catalog.setval('public.accounts_login_id_seq', 6, true);
SELECT pg_catalog.setval('public.accounts_message_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_oauthaccesstoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_oauthclient_id_seq', 1, true);
SELECT pg_catalog.setval('public.accounts_oauthgrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_oauthidtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_oauthrefreshtoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_personaltoken_id_seq', 8, true);
SELECT pg_catalog.setval('public.accounts_preferences_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_securityanswer_id_seq', 24, true);
SELECT pg_catalog.setval('public.accounts_sshkey_id_seq', 6, true);
SELECT pg_catalog.setval('public.accounts_ticket_id_seq', 2, true);
SELECT pg_catalog.setval('public.accounts_ticketattachment_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_ticketreply_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_trusteddevice_id_seq', 6, true);
SELECT pg_catalog.setval('public.accounts_user_groups_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_user_id_seq', 8, true);
SELECT pg_catalog.setval('public.accounts_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 314, true);
SELECT pg_catalog.setval('public.compute_address_id_seq', 116, true);
SELECT pg_catalog.setval('public.compute_addresspool_id_seq', 4, true);
SELECT pg_catalog.setval('public.compute_addressshare_id_seq', 1, false);
SELECT pg_catalog.setval('public.compute_alert_id_seq', 1, false);
SELECT pg_catalog.setval('public.compute_backup_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_balancersample_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_balancertransfer_id_seq', 1, false);
SELECT pg_catalog.setval('public.compute_config_id_seq', 5, true);
SELECT pg_catalog.setval('public.compute_configdevice_id_seq', 9, true);
SELECT pg_catalog.setval('public.compute_disk_id_seq', 9, true);
SELECT pg_catalog.setval('public.compute_domain_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_domainrecord_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_firewall_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_firewalldevice_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_host_id_seq', 2, true);
SELECT pg_catalog.setval('public.compute_hostmigration_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_instance_id_seq', 5, true);
SELECT pg_catalog.setval('public.compute_ipv6range_id_seq', 2, true);
SELECT pg_catalog.setval('public.compute_job_id_seq', 6, true);
SELECT pg_catalog.setval('public.compute_nodebalancer_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_nodebalancerconfig_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_nodebalancernode_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_reservation_id_seq', 4, true);
SELECT pg_catalog.setval('public.compute_sample_id_seq', 2, true);
SELECT pg_catalog.setval('public.compute_seededrow_id_seq', 1, false);
SELECT pg_catalog.setval('public.compute_stackscript_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_transfer_id_seq', 1, false);
SELECT pg_catalog.setval('public.compute_vlan_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_volume_id_seq', 1, true);
SELECT pg_catalog.setval('public.compute_volumedevice_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 78, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 54, true);
SELECT pg_catalog.setval('public.managed_contact_id_seq', 1, true);
SELECT pg_catalog.setval('public.managed_credential_id_seq', 1, true);
SELECT pg_catalog.setval('public.managed_decryption_id_seq', 1, false);
SELECT pg_catalog.setval('public.managed_issue_id_seq', 1, true);
SELECT pg_catalog.setval('public.managed_measurement_id_seq', 1, false);
SELECT pg_catalog.setval('public.managed_service_credentials_id_seq', 1, false);
SELECT pg_catalog.setval('public.managed_service_id_seq', 1, true);
SELECT pg_catalog.setval('public.oauth2_provider_devicegrant_id_seq', 1, false);
SELECT pg_catalog.setval('public.tags_tag_id_seq', 1, true);
SELECT pg_catalog.setval('public.tags_tagging_id_seq', 1, true);
SELECT pg_catalog.setval('simulated.fault_id_seq', 1, false);
ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_euuid_key UNIQUE (euuid);
ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_authorization
    ADD CONSTRAINT accounts_authorization_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_event
    ADD CONSTRAINT accounts_event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_externalidentity
    ADD CONSTRAINT accounts_externalidentity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_externalidentity
    ADD CONSTRAINT accounts_externalidentity_user_id_key UNIQUE (user_id);
ALTER TABLE ONLY public.accounts_globalgrants
    ADD CONSTRAINT accounts_globalgrants_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.accounts_grant
    ADD CONSTRAINT accounts_grant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_login
    ADD CONSTRAINT accounts_login_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_message
    ADD CONSTRAINT accounts_message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_id_token_id_key UNIQUE (id_token_id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_source_refresh_token_id_key UNIQUE (source_refresh_token_id);
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_token_checksum_key UNIQUE (token_checksum);
ALTER TABLE ONLY public.accounts_oauthclient
    ADD CONSTRAINT accounts_oauthclient_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.accounts_oauthclient
    ADD CONSTRAINT accounts_oauthclient_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_code_key UNIQUE (code);
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_jti_key UNIQUE (jti);
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_access_token_id_key UNIQUE (access_token_id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_token_checksum_revoked_660c784a_uniq UNIQUE (token_checksum, revoked);
ALTER TABLE ONLY public.accounts_personaltoken
    ADD CONSTRAINT accounts_personaltoken_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.accounts_personaltoken
    ADD CONSTRAINT accounts_personaltoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_phoneverification
    ADD CONSTRAINT accounts_phoneverification_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.accounts_preferences
    ADD CONSTRAINT accounts_preferences_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_secondfactor
    ADD CONSTRAINT accounts_secondfactor_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.accounts_securityanswer
    ADD CONSTRAINT accounts_securityanswer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_sshkey
    ADD CONSTRAINT accounts_sshkey_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_ticket
    ADD CONSTRAINT accounts_ticket_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_ticketattachment
    ADD CONSTRAINT accounts_ticketattachment_key_key UNIQUE (key);
ALTER TABLE ONLY public.accounts_ticketattachment
    ADD CONSTRAINT accounts_ticketattachment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_ticketreply
    ADD CONSTRAINT accounts_ticketreply_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_trusteddevice
    ADD CONSTRAINT accounts_trusteddevice_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.accounts_trusteddevice
    ADD CONSTRAINT accounts_trusteddevice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_group_id_59c0b32f_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permi_user_id_permission_id_2ab516c2_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_address_key UNIQUE (address);
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_nodebalancer_id_key UNIQUE (nodebalancer_id);
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_addresspool
    ADD CONSTRAINT compute_addresspool_network_key UNIQUE (network);
ALTER TABLE ONLY public.compute_addresspool
    ADD CONSTRAINT compute_addresspool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_addressshare
    ADD CONSTRAINT compute_addressshare_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_alert
    ADD CONSTRAINT compute_alert_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_backup
    ADD CONSTRAINT compute_backup_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_nodebalancermeter
    ADD CONSTRAINT compute_balancermeter_pkey PRIMARY KEY (nodebalancer_id);
ALTER TABLE ONLY public.compute_nodebalancersample
    ADD CONSTRAINT compute_balancersample_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_nodebalancertransfer
    ADD CONSTRAINT compute_balancertransfer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_config
    ADD CONSTRAINT compute_config_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_configdevice
    ADD CONSTRAINT compute_configdevice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_disk
    ADD CONSTRAINT compute_disk_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_domain
    ADD CONSTRAINT compute_domain_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_domainrecord
    ADD CONSTRAINT compute_domainrecord_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_firewall
    ADD CONSTRAINT compute_firewall_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_firewalldevice
    ADD CONSTRAINT compute_firewalldevice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_heartbeat
    ADD CONSTRAINT compute_heartbeat_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_host
    ADD CONSTRAINT compute_host_label_key UNIQUE (label);
ALTER TABLE ONLY public.compute_host
    ADD CONSTRAINT compute_host_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_host
    ADD CONSTRAINT compute_host_uuid_key UNIQUE (uuid);
ALTER TABLE ONLY public.compute_hostmigration
    ADD CONSTRAINT compute_hostmigration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_image
    ADD CONSTRAINT compute_image_number_key UNIQUE (number);
ALTER TABLE ONLY public.compute_image
    ADD CONSTRAINT compute_image_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_instancetype
    ADD CONSTRAINT compute_instancetype_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT compute_ipv6range_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_job
    ADD CONSTRAINT compute_job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_kernel
    ADD CONSTRAINT compute_kernel_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_meter
    ADD CONSTRAINT compute_meter_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.compute_nodebalancer
    ADD CONSTRAINT compute_nodebalancer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_nodebalancerconfig
    ADD CONSTRAINT compute_nodebalancerconfig_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_nodebalancernode
    ADD CONSTRAINT compute_nodebalancernode_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_packetfilter
    ADD CONSTRAINT compute_packetfilter_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.compute_reservation
    ADD CONSTRAINT compute_reservation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_sample
    ADD CONSTRAINT compute_sample_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_seededrow
    ADD CONSTRAINT compute_seededrow_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_stackscript
    ADD CONSTRAINT compute_stackscript_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_transfer
    ADD CONSTRAINT compute_transfer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_vlan
    ADD CONSTRAINT compute_vlan_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_volume
    ADD CONSTRAINT compute_volume_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_volumedevice
    ADD CONSTRAINT compute_volumedevice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_credential
    ADD CONSTRAINT credential_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.compute_configdevice
    ADD CONSTRAINT disk_once_per_config UNIQUE (config_id, disk_id);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.compute_domain
    ADD CONSTRAINT domain_name UNIQUE (label);
ALTER TABLE ONLY public.accounts_externalidentity
    ADD CONSTRAINT external_identity UNIQUE (issuer, subject);
ALTER TABLE ONLY public.compute_firewall
    ADD CONSTRAINT firewall_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.compute_firewalldevice
    ADD CONSTRAINT firewall_once UNIQUE (firewall_id, instance_id);
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT instance_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT ipv6_range UNIQUE (range);
ALTER TABLE ONLY public.managed_computesettings
    ADD CONSTRAINT managed_computesettings_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.managed_contact
    ADD CONSTRAINT managed_contact_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_credential
    ADD CONSTRAINT managed_credential_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_decryption
    ADD CONSTRAINT managed_decryption_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_issue
    ADD CONSTRAINT managed_issue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_issue
    ADD CONSTRAINT managed_issue_ticket_id_key UNIQUE (ticket_id);
ALTER TABLE ONLY public.managed_keypair
    ADD CONSTRAINT managed_keypair_pkey PRIMARY KEY (account_id);
ALTER TABLE ONLY public.managed_measurement
    ADD CONSTRAINT managed_measurement_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_service_credentials
    ADD CONSTRAINT managed_service_credenti_service_id_credential_id_0e85e29a_uniq UNIQUE (service_id, credential_id);
ALTER TABLE ONLY public.managed_service_credentials
    ADD CONSTRAINT managed_service_credentials_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.managed_service
    ADD CONSTRAINT managed_service_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_nodebalancer
    ADD CONSTRAINT nodebalancer_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.compute_nodebalancernode
    ADD CONSTRAINT nodebalancer_node UNIQUE (config_id, address);
ALTER TABLE ONLY public.compute_nodebalancerconfig
    ADD CONSTRAINT nodebalancer_port UNIQUE (nodebalancer_id, port);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devicegrant_unique_device_code UNIQUE (device_code);
ALTER TABLE ONLY public.accounts_securityanswer
    ADD CONSTRAINT one_answer_per_question UNIQUE (user_id, question_id);
ALTER TABLE ONLY public.accounts_authorization
    ADD CONSTRAINT one_authorization_per_client UNIQUE (user_id, client_id);
ALTER TABLE ONLY public.compute_nodebalancersample
    ADD CONSTRAINT one_balancer_sample UNIQUE (nodebalancer_id, at);
ALTER TABLE ONLY public.compute_nodebalancertransfer
    ADD CONSTRAINT one_balancer_transfer UNIQUE (nodebalancer_id, month);
ALTER TABLE ONLY public.compute_configdevice
    ADD CONSTRAINT one_device_per_slot UNIQUE (config_id, slot);
ALTER TABLE ONLY public.accounts_grant
    ADD CONSTRAINT one_grant_per_entity UNIQUE (user_id, entity_type, entity_id);
ALTER TABLE ONLY public.managed_measurement
    ADD CONSTRAINT one_measurement UNIQUE (service_id, span, at);
ALTER TABLE ONLY public.compute_reservation
    ADD CONSTRAINT one_reservation_per_host UNIQUE (instance_id, host_id);
ALTER TABLE ONLY public.compute_sample
    ADD CONSTRAINT one_sample UNIQUE (instance_id, span, at);
ALTER TABLE ONLY public.accounts_preferences
    ADD CONSTRAINT one_set_of_preferences UNIQUE NULLS NOT DISTINCT (user_id, client_id);
ALTER TABLE ONLY public.compute_addressshare
    ADD CONSTRAINT one_share UNIQUE (address_id, instance_id);
ALTER TABLE ONLY public.compute_transfer
    ADD CONSTRAINT one_transfer_a_month UNIQUE (instance_id, month);
ALTER TABLE ONLY public.compute_volumedevice
    ADD CONSTRAINT one_volume_per_slot UNIQUE (config_id, slot);
ALTER TABLE ONLY public.regions_region
    ADD CONSTRAINT regions_region_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compute_seededrow
    ADD CONSTRAINT seeded_row UNIQUE (kind, key);
ALTER TABLE ONLY public.tags_tag
    ADD CONSTRAINT tag_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.tags_tagging
    ADD CONSTRAINT tagging_once UNIQUE (tag_id, entity_type, entity_id);
ALTER TABLE ONLY public.tags_tag
    ADD CONSTRAINT tags_tag_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tags_tagging
    ADD CONSTRAINT tags_tagging_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT username UNIQUE (username);
ALTER TABLE ONLY public.compute_vlan
    ADD CONSTRAINT vlan_label UNIQUE (account_id, region_id, label);
ALTER TABLE ONLY public.compute_volume
    ADD CONSTRAINT volume_label UNIQUE (account_id, label);
ALTER TABLE ONLY public.compute_volumedevice
    ADD CONSTRAINT volume_once_per_config UNIQUE (config_id, volume_id);
ALTER TABLE ONLY simulated.archive
    ADD CONSTRAINT archive_pkey PRIMARY KEY (name);
ALTER TABLE ONLY simulated.call
    ADD CONSTRAINT call_pkey PRIMARY KEY (machine, call);
ALTER TABLE ONLY simulated.disk
    ADD CONSTRAINT disk_pkey PRIMARY KEY (machine, name);
ALTER TABLE ONLY simulated.fault
    ADD CONSTRAINT fault_pkey PRIMARY KEY (id);
ALTER TABLE ONLY simulated.machine
    ADD CONSTRAINT machine_pkey PRIMARY KEY (name);
ALTER TABLE ONLY simulated.volume
    ADD CONSTRAINT volume_pkey PRIMARY KEY (name);
CREATE INDEX accounts_authorization_client_id_5cf12cf3 ON public.accounts_authorization USING btree (client_id);
CREATE INDEX accounts_authorization_user_id_1c422f9c ON public.accounts_authorization USING btree (user_id);
CREATE INDEX accounts_event_account_id_52fea54a ON public.accounts_event USING btree (account_id);
CREATE INDEX accounts_grant_user_id_7b34be41 ON public.accounts_grant USING btree (user_id);
CREATE INDEX accounts_login_account_id_e49505e6 ON public.accounts_login USING btree (account_id);
CREATE INDEX accounts_login_user_id_46162ebd ON public.accounts_login USING btree (user_id);
CREATE INDEX accounts_oa_token_f_300deb_idx ON public.accounts_oauthrefreshtoken USING btree (token_family);
CREATE INDEX accounts_oauthaccesstoken_application_id_436354e4 ON public.accounts_oauthaccesstoken USING btree (application_id);
CREATE INDEX accounts_oauthaccesstoken_token_checksum_f1222217_like ON public.accounts_oauthaccesstoken USING btree (token_checksum varchar_pattern_ops);
CREATE INDEX accounts_oauthaccesstoken_user_id_a2eadd3d ON public.accounts_oauthaccesstoken USING btree (user_id);
CREATE INDEX accounts_oauthclient_account_id_51075faf ON public.accounts_oauthclient USING btree (account_id);
CREATE INDEX accounts_oauthclient_client_id_db6981dc_like ON public.accounts_oauthclient USING btree (client_id varchar_pattern_ops);
CREATE INDEX accounts_oauthclient_client_secret_215024a2 ON public.accounts_oauthclient USING btree (client_secret);
CREATE INDEX accounts_oauthclient_client_secret_215024a2_like ON public.accounts_oauthclient USING btree (client_secret varchar_pattern_ops);
CREATE INDEX accounts_oauthclient_user_id_1f9689eb ON public.accounts_oauthclient USING btree (user_id);
CREATE INDEX accounts_oauthgrant_access_token_id_92757a73 ON public.accounts_oauthgrant USING btree (access_token_id);
CREATE INDEX accounts_oauthgrant_application_id_393bb0fd ON public.accounts_oauthgrant USING btree (application_id);
CREATE INDEX accounts_oauthgrant_code_8687493e_like ON public.accounts_oauthgrant USING btree (code varchar_pattern_ops);
CREATE INDEX accounts_oauthgrant_user_id_3384734b ON public.accounts_oauthgrant USING btree (user_id);
CREATE INDEX accounts_oauthidtoken_application_id_479ceb89 ON public.accounts_oauthidtoken USING btree (application_id);
CREATE INDEX accounts_oauthidtoken_user_id_95fc1d45 ON public.accounts_oauthidtoken USING btree (user_id);
CREATE INDEX accounts_oauthrefreshtoken_application_id_921cb0d5 ON public.accounts_oauthrefreshtoken USING btree (application_id);
CREATE INDEX accounts_oauthrefreshtoken_user_id_47d0ed87 ON public.accounts_oauthrefreshtoken USING btree (user_id);
CREATE INDEX accounts_personaltoken_digest_043c3b6f_like ON public.accounts_personaltoken USING btree (digest varchar_pattern_ops);
CREATE INDEX accounts_personaltoken_user_id_a019d9c1 ON public.accounts_personaltoken USING btree (user_id);
CREATE INDEX accounts_preferences_client_id_f1f23f96 ON public.accounts_preferences USING btree (client_id);
CREATE INDEX accounts_preferences_user_id_157958a7 ON public.accounts_preferences USING btree (user_id);
CREATE INDEX accounts_securityanswer_user_id_67d93121 ON public.accounts_securityanswer USING btree (user_id);
CREATE INDEX accounts_sshkey_user_id_e6bcd17d ON public.accounts_sshkey USING btree (user_id);
CREATE INDEX accounts_ticket_account_id_598d4f8f ON public.accounts_ticket USING btree (account_id);
CREATE INDEX accounts_ticketattachment_ticket_id_0177000f ON public.accounts_ticketattachment USING btree (ticket_id);
CREATE INDEX accounts_ticketreply_ticket_id_7a43ffa0 ON public.accounts_ticketreply USING btree (ticket_id);
CREATE INDEX accounts_trusteddevice_digest_58b788eb_like ON public.accounts_trusteddevice USING btree (digest varchar_pattern_ops);
CREATE INDEX accounts_trusteddevice_user_id_8c4d0cdf ON public.accounts_trusteddevice USING btree (user_id);
CREATE INDEX accounts_user_account_id_a9fb5a91 ON public.accounts_user USING btree (account_id);
CREATE INDEX accounts_user_groups_group_id_bd11a704 ON public.accounts_user_groups USING btree (group_id);
CREATE INDEX accounts_user_groups_user_id_52b62117 ON public.accounts_user_groups USING btree (user_id);
CREATE INDEX accounts_user_user_permissions_permission_id_113bb443 ON public.accounts_user_user_permissions USING btree (permission_id);
CREATE INDEX accounts_user_user_permissions_user_id_e4f0a161 ON public.accounts_user_user_permissions USING btree (user_id);
CREATE INDEX address_free ON public.compute_address USING btree (region_id, public, released NULLS FIRST, id) WHERE ((instance_id IS NULL) AND (nodebalancer_id IS NULL));
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX compute_address_instance_id_f669ff60 ON public.compute_address USING btree (instance_id);
CREATE INDEX compute_address_pool_id_2ab42975 ON public.compute_address USING btree (pool_id);
CREATE INDEX compute_address_region_id_65429b1d ON public.compute_address USING btree (region_id);
CREATE INDEX compute_address_region_id_65429b1d_like ON public.compute_address USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_addresspool_network_98dd0bea_like ON public.compute_addresspool USING btree (network varchar_pattern_ops);
CREATE INDEX compute_addresspool_region_id_c1890aca ON public.compute_addresspool USING btree (region_id);
CREATE INDEX compute_addresspool_region_id_c1890aca_like ON public.compute_addresspool USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_addressshare_address_id_02842841 ON public.compute_addressshare USING btree (address_id);
CREATE INDEX compute_addressshare_instance_id_3213f31a ON public.compute_addressshare USING btree (instance_id);
CREATE INDEX compute_alert_instance_id_0a234ed8 ON public.compute_alert USING btree (instance_id);
CREATE INDEX compute_backup_account_id_d471ba52 ON public.compute_backup USING btree (account_id);
CREATE INDEX compute_backup_instance_id_07dde3bd ON public.compute_backup USING btree (instance_id);
CREATE INDEX compute_backup_region_id_d7bf2cc8 ON public.compute_backup USING btree (region_id);
CREATE INDEX compute_backup_region_id_d7bf2cc8_like ON public.compute_backup USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_config_instance_id_6637de92 ON public.compute_config USING btree (instance_id);
CREATE INDEX compute_configdevice_config_id_077d325b ON public.compute_configdevice USING btree (config_id);
CREATE INDEX compute_configdevice_disk_id_1886c8a1 ON public.compute_configdevice USING btree (disk_id);
CREATE INDEX compute_disk_instance_id_b2c85f17 ON public.compute_disk USING btree (instance_id);
CREATE INDEX compute_disk_stackscript_id_38d7a6bf ON public.compute_disk USING btree (stackscript_id);
CREATE INDEX compute_domain_account_id_f6c977d3 ON public.compute_domain USING btree (account_id);
CREATE INDEX compute_domainrecord_domain_id_73b672b8 ON public.compute_domainrecord USING btree (domain_id);
CREATE INDEX compute_firewall_account_id_d3e05c6d ON public.compute_firewall USING btree (account_id);
CREATE INDEX compute_firewalldevice_firewall_id_a101acc2 ON public.compute_firewalldevice USING btree (firewall_id);
CREATE INDEX compute_firewalldevice_instance_id_ada2eb51 ON public.compute_firewalldevice USING btree (instance_id);
CREATE INDEX compute_host_label_3b3b6936_like ON public.compute_host USING btree (label varchar_pattern_ops);
CREATE INDEX compute_host_region_id_30c0b992 ON public.compute_host USING btree (region_id);
CREATE INDEX compute_host_region_id_30c0b992_like ON public.compute_host USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_hostmigration_instance_id_73df8382 ON public.compute_hostmigration USING btree (instance_id);
CREATE INDEX compute_image_account_id_e456b958 ON public.compute_image USING btree (account_id);
CREATE INDEX compute_image_id_ee1f1811_like ON public.compute_image USING btree (id varchar_pattern_ops);
CREATE INDEX compute_instance_account_id_94462954 ON public.compute_instance USING btree (account_id);
CREATE INDEX compute_instance_host_id_ef88ff9f ON public.compute_instance USING btree (host_id);
CREATE INDEX compute_instance_region_id_59927ec3 ON public.compute_instance USING btree (region_id);
CREATE INDEX compute_instance_region_id_59927ec3_like ON public.compute_instance USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_instance_type_id_bf6bb8b9 ON public.compute_instance USING btree (type_id);
CREATE INDEX compute_instance_type_id_bf6bb8b9_like ON public.compute_instance USING btree (type_id varchar_pattern_ops);
CREATE INDEX compute_instancetype_id_cee9b08b_like ON public.compute_instancetype USING btree (id varchar_pattern_ops);
CREATE INDEX compute_instancetype_successor_id_aa830164 ON public.compute_instancetype USING btree (successor_id);
CREATE INDEX compute_instancetype_successor_id_aa830164_like ON public.compute_instancetype USING btree (successor_id varchar_pattern_ops);
CREATE INDEX compute_ipv6range_account_id_8e82ae7d ON public.compute_ipv6range USING btree (account_id);
CREATE INDEX compute_ipv6range_instance_id_bacc8729 ON public.compute_ipv6range USING btree (instance_id);
CREATE INDEX compute_ipv6range_pool_id_cc502349 ON public.compute_ipv6range USING btree (pool_id);
CREATE INDEX compute_ipv6range_region_id_a4463e2d ON public.compute_ipv6range USING btree (region_id);
CREATE INDEX compute_ipv6range_region_id_a4463e2d_like ON public.compute_ipv6range USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_job_event_id_9404a10a ON public.compute_job USING btree (event_id);
CREATE INDEX compute_job_instance_id_02b6e3b3 ON public.compute_job USING btree (instance_id);
CREATE INDEX compute_job_source_id_6c50c992 ON public.compute_job USING btree (source_id);
CREATE INDEX compute_job_volume_id_09145e76 ON public.compute_job USING btree (volume_id);
CREATE INDEX compute_kernel_id_ad9e6891_like ON public.compute_kernel USING btree (id varchar_pattern_ops);
CREATE INDEX compute_nodebalancer_account_id_82bc8543 ON public.compute_nodebalancer USING btree (account_id);
CREATE INDEX compute_nodebalancer_region_id_db3c1ba5 ON public.compute_nodebalancer USING btree (region_id);
CREATE INDEX compute_nodebalancer_region_id_db3c1ba5_like ON public.compute_nodebalancer USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_nodebalancerconfig_nodebalancer_id_3156c278 ON public.compute_nodebalancerconfig USING btree (nodebalancer_id);
CREATE INDEX compute_nodebalancernode_config_id_7c967212 ON public.compute_nodebalancernode USING btree (config_id);
CREATE INDEX compute_nodebalancernode_instance_id_f3213b96 ON public.compute_nodebalancernode USING btree (instance_id);
CREATE INDEX compute_reservation_host_id_584a84c0 ON public.compute_reservation USING btree (host_id);
CREATE INDEX compute_reservation_instance_id_4a1bc529 ON public.compute_reservation USING btree (instance_id);
CREATE INDEX compute_stackscript_account_id_6e38edd7 ON public.compute_stackscript USING btree (account_id);
CREATE INDEX compute_transfer_account_id_7e5717e3 ON public.compute_transfer USING btree (account_id);
CREATE INDEX compute_transfer_instance_id_743c51d3 ON public.compute_transfer USING btree (instance_id);
CREATE INDEX compute_vlan_account_id_1c44b1e2 ON public.compute_vlan USING btree (account_id);
CREATE INDEX compute_vlan_region_id_bc3066b2 ON public.compute_vlan USING btree (region_id);
CREATE INDEX compute_vlan_region_id_bc3066b2_like ON public.compute_vlan USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_volume_account_id_eb8f644d ON public.compute_volume USING btree (account_id);
CREATE INDEX compute_volume_instance_id_b0895a83 ON public.compute_volume USING btree (instance_id);
CREATE INDEX compute_volume_region_id_2b4b101b ON public.compute_volume USING btree (region_id);
CREATE INDEX compute_volume_region_id_2b4b101b_like ON public.compute_volume USING btree (region_id varchar_pattern_ops);
CREATE INDEX compute_volumedevice_config_id_348b50be ON public.compute_volumedevice USING btree (config_id);
CREATE INDEX compute_volumedevice_volume_id_251c4705 ON public.compute_volumedevice USING btree (volume_id);
CREATE INDEX config_interfaces ON public.compute_config USING gin (interfaces jsonb_path_ops);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX domain_page ON public.compute_domain USING btree (account_id, id);
CREATE INDEX event_account ON public.accounts_event USING btree (account_id, id DESC);
CREATE INDEX event_entity ON public.accounts_event USING btree (account_id, entity_type, entity_id, id DESC);
CREATE INDEX grant_entity ON public.accounts_grant USING btree (entity_type, entity_id);
CREATE INDEX host_migration_due ON public.compute_hostmigration USING btree ("when") WHERE ((status)::text = 'pending'::text);
CREATE INDEX instance_backups ON public.compute_instance USING btree (backups_window, id) WHERE backups_enabled;
CREATE INDEX instance_page ON public.compute_instance USING btree (account_id, id);
CREATE INDEX instance_tags ON public.compute_instance USING gin (tags);
CREATE INDEX instance_unscheduled ON public.compute_instance USING btree (id) WHERE (backups_enabled AND ((backups_day IS NULL) OR ((backups_day)::text = 'Scheduling'::text) OR (backups_window IS NULL) OR ((backups_window)::text = 'Scheduling'::text)));
CREATE INDEX job_due ON public.compute_job USING btree (run_at) WHERE ((state)::text = ANY ((ARRAY['active'::character varying, 'undoing'::character varying])::text[]));
CREATE INDEX login_account ON public.accounts_login USING btree (account_id, id DESC);
CREATE INDEX login_ip ON public.accounts_login USING btree (ip);
CREATE INDEX login_user ON public.accounts_login USING btree (user_id, id DESC);
CREATE INDEX login_username ON public.accounts_login USING btree (username);
CREATE INDEX managed_contact_account_id_49421d8f ON public.managed_contact USING btree (account_id);
CREATE INDEX managed_credential_account_id_f483aca6 ON public.managed_credential USING btree (account_id);
CREATE INDEX managed_decryption_account_id_e9ff8698 ON public.managed_decryption USING btree (account_id);
CREATE INDEX managed_decryption_credential_id_a4a0a112 ON public.managed_decryption USING btree (credential_id);
CREATE INDEX managed_decryption_key_pair_id_f5d67613 ON public.managed_decryption USING btree (key_pair_id);
CREATE INDEX managed_issue_account_id_5f2632a8 ON public.managed_issue USING btree (account_id);
CREATE INDEX managed_service_account_id_5887f34b ON public.managed_service USING btree (account_id);
CREATE INDEX managed_service_credentials_credential_id_2691abe9 ON public.managed_service_credentials USING btree (credential_id);
CREATE INDEX managed_service_credentials_service_id_dab5e065 ON public.managed_service_credentials USING btree (service_id);
CREATE INDEX managed_service_issue_id_54e2da07 ON public.managed_service USING btree (issue_id);
CREATE INDEX managed_service_region_id_42ef96b1 ON public.managed_service USING btree (region_id);
CREATE INDEX managed_service_region_id_42ef96b1_like ON public.managed_service USING btree (region_id varchar_pattern_ops);
CREATE INDEX message_due ON public.accounts_message USING btree (run_at) WHERE (NOT given_up);
CREATE INDEX nodebalancer_page ON public.compute_nodebalancer USING btree (account_id, id);
CREATE INDEX nodebalancer_tags ON public.compute_nodebalancer USING gin (tags);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d ON public.oauth2_provider_devicegrant USING btree (client_id);
CREATE INDEX oauth2_provider_devicegrant_client_id_229dd06d_like ON public.oauth2_provider_devicegrant USING btree (client_id varchar_pattern_ops);
CREATE INDEX oauth2_provider_devicegrant_user_id_1cec5156 ON public.oauth2_provider_devicegrant USING btree (user_id);
CREATE UNIQUE INDEX one_automatic_a_day ON public.compute_backup USING btree (instance_id, day) WHERE (((type)::text = 'automatic'::text) AND (NOT ((status)::text = ANY ((ARRAY['failed'::character varying, 'userAborted'::character varying])::text[]))));
CREATE UNIQUE INDEX one_enabled_firewall ON public.compute_firewalldevice USING btree (instance_id) WHERE enabled;
CREATE UNIQUE INDEX one_host_migration ON public.compute_hostmigration USING btree (instance_id) WHERE ((status)::text = ANY ((ARRAY['pending'::character varying, 'started'::character varying])::text[]));
CREATE UNIQUE INDEX one_live_job ON public.compute_job USING btree (instance_id) WHERE ((state)::text = ANY ((ARRAY['active'::character varying, 'undoing'::character varying])::text[]));
CREATE UNIQUE INDEX one_live_volume_job ON public.compute_job USING btree (volume_id) WHERE ((state)::text = ANY ((ARRAY['active'::character varying, 'undoing'::character varying])::text[]));
CREATE UNIQUE INDEX one_open_alert ON public.compute_alert USING btree (instance_id, metric) WHERE (cleared IS NULL);
CREATE UNIQUE INDEX one_open_issue ON public.managed_issue USING btree (account_id) WHERE (closed IS NULL);
CREATE UNIQUE INDEX one_queued_job ON public.compute_job USING btree (instance_id) WHERE ((state)::text = 'queued'::text);
CREATE UNIQUE INDEX one_snapshot_in_progress ON public.compute_backup USING btree (instance_id) WHERE (((status)::text = ANY ((ARRAY['pending'::character varying, 'running'::character varying, 'needsPostProcessing'::character varying])::text[])) AND ((type)::text = 'snapshot'::text));
CREATE INDEX packet_filter_due ON public.compute_packetfilter USING btree (run_at) WHERE (applied < wanted);
CREATE INDEX record_page ON public.compute_domainrecord USING btree (domain_id, id);
CREATE INDEX regions_region_id_065abf74_like ON public.regions_region USING btree (id varchar_pattern_ops);
CREATE INDEX service_due ON public.managed_service USING btree (next_check_at) WHERE (NOT ((status)::text = 'disabled'::text));
CREATE INDEX service_page ON public.managed_service USING btree (account_id, id);
CREATE INDEX stackscript_page ON public.compute_stackscript USING btree (account_id, id);
CREATE INDEX stackscript_public ON public.compute_stackscript USING btree (id) WHERE is_public;
CREATE INDEX tagging_entity ON public.tags_tagging USING btree (entity_type, entity_id);
CREATE INDEX tags_tag_account_id_753291e7 ON public.tags_tag USING btree (account_id);
CREATE INDEX tags_tagging_tag_id_b03335fd ON public.tags_tagging USING btree (tag_id);
CREATE INDEX ticket_live ON public.accounts_ticket USING btree (id) WHERE (NOT ((status)::text = 'closed'::text));
CREATE INDEX ticket_page ON public.accounts_ticket USING btree (account_id, id);
CREATE INDEX transfer_month ON public.compute_transfer USING btree (account_id, month);
CREATE UNIQUE INDEX username_in_any_case ON public.accounts_user USING btree (upper((username)::text));
CREATE INDEX volume_page ON public.compute_volume USING btree (account_id, id);
CREATE INDEX volume_tags ON public.compute_volume USING gin (tags);
CREATE INDEX machine_host ON simulated.machine USING btree (host);
ALTER TABLE ONLY public.accounts_authorization
    ADD CONSTRAINT accounts_authorizati_client_id_5cf12cf3_fk_accounts_ FOREIGN KEY (client_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_authorization
    ADD CONSTRAINT accounts_authorization_user_id_1c422f9c_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_event
    ADD CONSTRAINT accounts_event_account_id_52fea54a_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_externalidentity
    ADD CONSTRAINT accounts_externalidentity_user_id_b01fa084_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_globalgrants
    ADD CONSTRAINT accounts_globalgrants_user_id_42b8a6fe_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_grant
    ADD CONSTRAINT accounts_grant_user_id_7b34be41_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_login
    ADD CONSTRAINT accounts_login_account_id_e49505e6_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_login
    ADD CONSTRAINT accounts_login_user_id_46162ebd_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_application_id_436354e4_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_id_token_id_23e98bf5_fk_accounts_ FOREIGN KEY (id_token_id) REFERENCES public.accounts_oauthidtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccess_source_refresh_token_e41992bc_fk_accounts_ FOREIGN KEY (source_refresh_token_id) REFERENCES public.accounts_oauthrefreshtoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthaccesstoken
    ADD CONSTRAINT accounts_oauthaccesstoken_user_id_a2eadd3d_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthclient
    ADD CONSTRAINT accounts_oauthclient_account_id_51075faf_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthclient
    ADD CONSTRAINT accounts_oauthclient_user_id_1f9689eb_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_access_token_id_92757a73_fk_accounts_ FOREIGN KEY (access_token_id) REFERENCES public.accounts_oauthaccesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_application_id_393bb0fd_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthgrant
    ADD CONSTRAINT accounts_oauthgrant_user_id_3384734b_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoke_application_id_479ceb89_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthidtoken
    ADD CONSTRAINT accounts_oauthidtoken_user_id_95fc1d45_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefres_access_token_id_87f867f7_fk_accounts_ FOREIGN KEY (access_token_id) REFERENCES public.accounts_oauthaccesstoken(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefres_application_id_921cb0d5_fk_accounts_ FOREIGN KEY (application_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_oauthrefreshtoken
    ADD CONSTRAINT accounts_oauthrefreshtoken_user_id_47d0ed87_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_personaltoken
    ADD CONSTRAINT accounts_personaltoken_user_id_a019d9c1_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_phoneverification
    ADD CONSTRAINT accounts_phoneverification_user_id_2b159574_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_preferences
    ADD CONSTRAINT accounts_preferences_client_id_f1f23f96_fk_accounts_ FOREIGN KEY (client_id) REFERENCES public.accounts_oauthclient(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_preferences
    ADD CONSTRAINT accounts_preferences_user_id_157958a7_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_secondfactor
    ADD CONSTRAINT accounts_secondfactor_user_id_1e182b70_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_securityanswer
    ADD CONSTRAINT accounts_securityanswer_user_id_67d93121_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_sshkey
    ADD CONSTRAINT accounts_sshkey_user_id_e6bcd17d_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_ticket
    ADD CONSTRAINT accounts_ticket_account_id_598d4f8f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_ticketattachment
    ADD CONSTRAINT accounts_ticketattac_ticket_id_0177000f_fk_accounts_ FOREIGN KEY (ticket_id) REFERENCES public.accounts_ticket(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_ticketreply
    ADD CONSTRAINT accounts_ticketreply_ticket_id_7a43ffa0_fk_accounts_ticket_id FOREIGN KEY (ticket_id) REFERENCES public.accounts_ticket(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_trusteddevice
    ADD CONSTRAINT accounts_trusteddevice_user_id_8c4d0cdf_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_account_id_a9fb5a91_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_group_id_bd11a704_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_52b62117_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_permission_id_113bb443_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_user_id_e4f0a161_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_instance_id_f669ff60_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_nodebalancer_id_6ce0e210_fk_compute_n FOREIGN KEY (nodebalancer_id) REFERENCES public.compute_nodebalancer(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_pool_id_2ab42975_fk_compute_addresspool_id FOREIGN KEY (pool_id) REFERENCES public.compute_addresspool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_address
    ADD CONSTRAINT compute_address_region_id_65429b1d_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_addresspool
    ADD CONSTRAINT compute_addresspool_region_id_c1890aca_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_addressshare
    ADD CONSTRAINT compute_addressshare_address_id_02842841_fk_compute_address_id FOREIGN KEY (address_id) REFERENCES public.compute_address(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_addressshare
    ADD CONSTRAINT compute_addressshare_instance_id_3213f31a_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_alert
    ADD CONSTRAINT compute_alert_instance_id_0a234ed8_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_backup
    ADD CONSTRAINT compute_backup_account_id_d471ba52_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_backup
    ADD CONSTRAINT compute_backup_instance_id_07dde3bd_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_backup
    ADD CONSTRAINT compute_backup_region_id_d7bf2cc8_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancermeter
    ADD CONSTRAINT compute_balancermete_nodebalancer_id_a73082ca_fk_compute_n FOREIGN KEY (nodebalancer_id) REFERENCES public.compute_nodebalancer(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancersample
    ADD CONSTRAINT compute_balancersamp_nodebalancer_id_ee946213_fk_compute_n FOREIGN KEY (nodebalancer_id) REFERENCES public.compute_nodebalancer(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancertransfer
    ADD CONSTRAINT compute_balancertran_nodebalancer_id_4873ddf3_fk_compute_n FOREIGN KEY (nodebalancer_id) REFERENCES public.compute_nodebalancer(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_config
    ADD CONSTRAINT compute_config_instance_id_6637de92_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_config
    ADD CONSTRAINT compute_config_kernel_id_20792675_fk_compute_kernel_id FOREIGN KEY (kernel_id) REFERENCES public.compute_kernel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_configdevice
    ADD CONSTRAINT compute_configdevice_config_id_077d325b_fk_compute_config_id FOREIGN KEY (config_id) REFERENCES public.compute_config(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_configdevice
    ADD CONSTRAINT compute_configdevice_disk_id_1886c8a1_fk_compute_disk_id FOREIGN KEY (disk_id) REFERENCES public.compute_disk(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_disk
    ADD CONSTRAINT compute_disk_image_id_c9b3badf_fk_compute_image_id FOREIGN KEY (image_id) REFERENCES public.compute_image(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_disk
    ADD CONSTRAINT compute_disk_instance_id_b2c85f17_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_disk
    ADD CONSTRAINT compute_disk_stackscript_id_38d7a6bf_fk_compute_stackscript_id FOREIGN KEY (stackscript_id) REFERENCES public.compute_stackscript(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_domain
    ADD CONSTRAINT compute_domain_account_id_f6c977d3_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_domainrecord
    ADD CONSTRAINT compute_domainrecord_domain_id_73b672b8_fk_compute_domain_id FOREIGN KEY (domain_id) REFERENCES public.compute_domain(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_firewall
    ADD CONSTRAINT compute_firewall_account_id_d3e05c6d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_firewalldevice
    ADD CONSTRAINT compute_firewalldevi_firewall_id_a101acc2_fk_compute_f FOREIGN KEY (firewall_id) REFERENCES public.compute_firewall(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_firewalldevice
    ADD CONSTRAINT compute_firewalldevi_instance_id_ada2eb51_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_host
    ADD CONSTRAINT compute_host_region_id_30c0b992_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_hostmigration
    ADD CONSTRAINT compute_hostmigratio_instance_id_73df8382_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_image
    ADD CONSTRAINT compute_image_account_id_e456b958_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_account_id_94462954_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_booted_config_id_1bda3433_fk_compute_config_id FOREIGN KEY (booted_config_id) REFERENCES public.compute_config(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_host_id_ef88ff9f_fk_compute_host_id FOREIGN KEY (host_id) REFERENCES public.compute_host(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_image_id_8a87cbd2_fk_compute_image_id FOREIGN KEY (image_id) REFERENCES public.compute_image(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_region_id_59927ec3_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instance
    ADD CONSTRAINT compute_instance_type_id_bf6bb8b9_fk_compute_instancetype_id FOREIGN KEY (type_id) REFERENCES public.compute_instancetype(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_instancetype
    ADD CONSTRAINT compute_instancetype_successor_id_aa830164_fk_compute_i FOREIGN KEY (successor_id) REFERENCES public.compute_instancetype(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT compute_ipv6range_account_id_8e82ae7d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT compute_ipv6range_instance_id_bacc8729_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT compute_ipv6range_pool_id_cc502349_fk_compute_addresspool_id FOREIGN KEY (pool_id) REFERENCES public.compute_addresspool(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_ipv6range
    ADD CONSTRAINT compute_ipv6range_region_id_a4463e2d_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_job
    ADD CONSTRAINT compute_job_event_id_9404a10a_fk_accounts_event_id FOREIGN KEY (event_id) REFERENCES public.accounts_event(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_job
    ADD CONSTRAINT compute_job_instance_id_02b6e3b3_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_job
    ADD CONSTRAINT compute_job_source_id_6c50c992_fk_compute_instance_id FOREIGN KEY (source_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_job
    ADD CONSTRAINT compute_job_volume_id_09145e76_fk_compute_volume_id FOREIGN KEY (volume_id) REFERENCES public.compute_volume(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_meter
    ADD CONSTRAINT compute_meter_instance_id_712dd1fc_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancer
    ADD CONSTRAINT compute_nodebalancer_account_id_82bc8543_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancernode
    ADD CONSTRAINT compute_nodebalancer_config_id_7c967212_fk_compute_n FOREIGN KEY (config_id) REFERENCES public.compute_nodebalancerconfig(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancernode
    ADD CONSTRAINT compute_nodebalancer_instance_id_f3213b96_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancerconfig
    ADD CONSTRAINT compute_nodebalancer_nodebalancer_id_3156c278_fk_compute_n FOREIGN KEY (nodebalancer_id) REFERENCES public.compute_nodebalancer(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_nodebalancer
    ADD CONSTRAINT compute_nodebalancer_region_id_db3c1ba5_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_packetfilter
    ADD CONSTRAINT compute_packetfilter_instance_id_85a4ee66_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_reservation
    ADD CONSTRAINT compute_reservation_host_id_584a84c0_fk_compute_host_id FOREIGN KEY (host_id) REFERENCES public.compute_host(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_reservation
    ADD CONSTRAINT compute_reservation_instance_id_4a1bc529_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_sample
    ADD CONSTRAINT compute_sample_instance_id_968e9064_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_stackscript
    ADD CONSTRAINT compute_stackscript_account_id_6e38edd7_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_transfer
    ADD CONSTRAINT compute_transfer_account_id_7e5717e3_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_transfer
    ADD CONSTRAINT compute_transfer_instance_id_743c51d3_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_vlan
    ADD CONSTRAINT compute_vlan_account_id_1c44b1e2_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_vlan
    ADD CONSTRAINT compute_vlan_region_id_bc3066b2_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_volume
    ADD CONSTRAINT compute_volume_account_id_eb8f644d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_volume
    ADD CONSTRAINT compute_volume_instance_id_b0895a83_fk_compute_instance_id FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_volume
    ADD CONSTRAINT compute_volume_region_id_2b4b101b_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_volumedevice
    ADD CONSTRAINT compute_volumedevice_config_id_348b50be_fk_compute_config_id FOREIGN KEY (config_id) REFERENCES public.compute_config(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.compute_volumedevice
    ADD CONSTRAINT compute_volumedevice_volume_id_251c4705_fk_compute_volume_id FOREIGN KEY (volume_id) REFERENCES public.compute_volume(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_computesettings
    ADD CONSTRAINT managed_computesetti_instance_id_0a2993f2_fk_compute_i FOREIGN KEY (instance_id) REFERENCES public.compute_instance(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_contact
    ADD CONSTRAINT managed_contact_account_id_49421d8f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_credential
    ADD CONSTRAINT managed_credential_account_id_f483aca6_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_decryption
    ADD CONSTRAINT managed_decryption_account_id_e9ff8698_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_decryption
    ADD CONSTRAINT managed_decryption_credential_id_a4a0a112_fk_managed_c FOREIGN KEY (credential_id) REFERENCES public.managed_credential(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_decryption
    ADD CONSTRAINT managed_decryption_key_pair_id_f5d67613_fk_managed_k FOREIGN KEY (key_pair_id) REFERENCES public.managed_keypair(account_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_issue
    ADD CONSTRAINT managed_issue_account_id_5f2632a8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_issue
    ADD CONSTRAINT managed_issue_ticket_id_3bdb20f3_fk_accounts_ticket_id FOREIGN KEY (ticket_id) REFERENCES public.accounts_ticket(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_keypair
    ADD CONSTRAINT managed_keypair_account_id_05d30329_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_measurement
    ADD CONSTRAINT managed_measurement_service_id_612367a1_fk_managed_service_id FOREIGN KEY (service_id) REFERENCES public.managed_service(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_service
    ADD CONSTRAINT managed_service_account_id_5887f34b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_service_credentials
    ADD CONSTRAINT managed_service_cred_credential_id_2691abe9_fk_managed_c FOREIGN KEY (credential_id) REFERENCES public.managed_credential(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_service_credentials
    ADD CONSTRAINT managed_service_cred_service_id_dab5e065_fk_managed_s FOREIGN KEY (service_id) REFERENCES public.managed_service(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_service
    ADD CONSTRAINT managed_service_issue_id_54e2da07_fk_managed_issue_id FOREIGN KEY (issue_id) REFERENCES public.managed_issue(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.managed_service
    ADD CONSTRAINT managed_service_region_id_42ef96b1_fk_regions_region_id FOREIGN KEY (region_id) REFERENCES public.regions_region(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.oauth2_provider_devicegrant
    ADD CONSTRAINT oauth2_provider_devi_user_id_1cec5156_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tags_tag
    ADD CONSTRAINT tags_tag_account_id_753291e7_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.tags_tagging
    ADD CONSTRAINT tags_tagging_tag_id_b03335fd_fk_tags_tag_id FOREIGN KEY (tag_id) REFERENCES public.tags_tag(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY simulated.disk
    ADD CONSTRAINT disk_machine_fkey FOREIGN KEY (machine) REFERENCES simulated.machine(name) ON DELETE CASCADE;
