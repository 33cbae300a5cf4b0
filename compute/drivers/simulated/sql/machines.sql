-- Calls on machines: their power, their hosts, and their packet filters.

CREATE FUNCTION simulated.is_off(m simulated.machine, at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT m.power = 'off' AND m.settles_at <= at OR m.power = 'on' AND coalesce(m.halts_at <= at, false)
$$;

-- The seconds that the machine has been on since it was defined.
CREATE FUNCTION simulated.been_on(m simulated.machine, at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT m.was_on + CASE WHEN m.power = 'on'
        THEN greatest(0, extract(epoch FROM least(at, m.halts_at) - m.began_at)) ELSE 0 END
$$;

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
        RETURN simulated.simply('refuse', 'The machine does not exist.');
    END IF;
    at := clock_timestamp();
    IF NOT simulated.is_off(m, at) THEN
        IF m.power = 'on' THEN
            RETURN simulated.progress(hit.outcome, m.began_at, m.settles_at, at);
        END IF;
        -- the machine is shutting down: the progress is 0 until the end, and then the same call boots the machine
        RETURN (hit.outcome, NULL, 0, extract(epoch FROM m.settles_at - at), NULL, NULL)::simulated.answer;
    END IF;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
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
        fell = NULL,
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
            halts_at = NULL,
            fell = NULL
        WHERE name = machine_name
        RETURNING * INTO m;
    END IF;
    RETURN simulated.progress(hit.outcome, m.began_at, m.settles_at, at);
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

-- The seconds that each running machine has been on. Its usage is computed from them.
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

-- `per_mb` is the number of seconds for each MB on the machine's disks.
CREATE FUNCTION simulated.receive(machine_name text, host_name text, per_mb double precision)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('receive', machine_name, host_name);
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
        RETURN simulated.simply('refuse', 'The machine does not exist.');
    ELSIF NOT simulated.is_off(m, at) THEN
        RETURN simulated.simply('refuse', 'The machine is on.');
    ELSIF m.host = host_name THEN
        -- the machine is here, or began to move and turns back: the incomplete copy is dropped
        UPDATE simulated.machine SET moving_to = NULL, moved_by = NULL WHERE name = machine_name;
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT coalesce(sum(used), 0) INTO mb FROM simulated.disk WHERE machine = machine_name;
    IF m.moving_to IS DISTINCT FROM host_name THEN
        UPDATE simulated.machine SET
            power = 'off',
            was_on = simulated.been_on(m, at),
            fell = CASE WHEN m.power = 'on' THEN 'guest' ELSE m.fell END,
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

-- Stores a packet filter that is newer than the stored one. A null version is never newer.
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
