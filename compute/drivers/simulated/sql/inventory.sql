-- The inventory of a host, and setting objects aside.

-- The reason why a machine went off; null if the machine is on or was never on.
CREATE FUNCTION simulated.ended(m simulated.machine, at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN m.boots = 0 OR NOT simulated.is_off(m, at) THEN NULL
        WHEN m.power = 'on' THEN 'guest'
        ELSE coalesce(m.fell, 'asked')
    END
$$;

CREATE FUNCTION simulated.inventory(host_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('inventory', NULL, host_name);
    at timestamptz := clock_timestamp();
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    RETURN simulated.simply(hit.outcome, json_build_object(
        'machines', (
            SELECT json_agg(json_build_array(
                       m.name, CASE WHEN simulated.is_off(m, at) THEN 'off' ELSE 'on' END,
                       ARRAY(SELECT d.name FROM simulated.disk d WHERE d.machine = m.name AND d.ready_at <= at),
                       CASE WHEN simulated.is_off(m, at) THEN '{}'::jsonb ELSE m.plugged END,
                       m.memory, m.vcpus, simulated.ended(m, at)) ORDER BY m.name)
              FROM simulated.machine m WHERE m.host = host_name),
        'volumes', ARRAY(SELECT v.name FROM simulated.volume v WHERE v.ready_at <= at ORDER BY v.name),
        'aside', ARRAY(
            SELECT a.name FROM simulated.aside a WHERE a.host = host_name OR a.host IS NULL ORDER BY a.name)
    )::text);
END $$;

-- A name that no set-aside object has yet.
CREATE FUNCTION simulated.name_aside(wanted text, folder text DEFAULT 'aside/') RETURNS text LANGUAGE sql AS $$
    SELECT folder || wanted || CASE count(*) WHEN 0 THEN '' ELSE '-' || count(*) + 1 END
      FROM simulated.aside WHERE content ->> 'name' = wanted
$$;

CREATE FUNCTION simulated.set_aside(machine_name text, host_name text, disk_name text)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('set_aside', machine_name, host_name);
    m simulated.machine;
    d simulated.disk;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = machine_name AND host = host_name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    ELSIF (CASE WHEN disk_name IS NULL THEN NOT simulated.is_off(m, clock_timestamp())
                ELSE simulated.in_use(m, disk_name, clock_timestamp()) END) THEN
        RETURN simulated.simply('refuse', 'The machine is on.');
    ELSIF disk_name IS NULL THEN
        INSERT INTO simulated.aside VALUES (simulated.name_aside(machine_name), host_name, to_jsonb(m) ||
            jsonb_build_object('disks', (
                SELECT jsonb_agg(to_jsonb(s)) FROM simulated.disk s WHERE s.machine = machine_name)));
        DELETE FROM simulated.machine WHERE name = machine_name;
    ELSE
        DELETE FROM simulated.disk WHERE machine = machine_name AND name = disk_name RETURNING * INTO d;
        IF FOUND THEN
            INSERT INTO simulated.aside VALUES (simulated.name_aside(disk_name), host_name, to_jsonb(d));
        END IF;
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.set_volume_aside(volume_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('set_volume_aside', NULL, NULL);
    v simulated.volume;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    PERFORM FROM simulated.volume WHERE name = volume_name FOR UPDATE;
    IF EXISTS (SELECT FROM simulated.machine m
                WHERE m.plugged ? volume_name AND NOT simulated.is_off(m, clock_timestamp())) THEN
        RETURN simulated.simply('refuse', 'The volume is in use by a machine that is on.');
    END IF;
    DELETE FROM simulated.volume WHERE name = volume_name RETURNING * INTO v;
    IF FOUND THEN
        INSERT INTO simulated.aside VALUES (simulated.name_aside(volume_name, 'shared/aside/'), NULL, to_jsonb(v));
    END IF;
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;

CREATE FUNCTION simulated.discard(thing text, host_name text) RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    hit record := simulated.strike('discard', thing, host_name);
    m simulated.machine;
BEGIN
    IF hit.blocked THEN
        RETURN simulated.simply(hit.outcome, hit.detail);
    END IF;
    SELECT * INTO m FROM simulated.machine WHERE name = thing AND host = host_name FOR UPDATE;
    IF FOUND THEN
        IF NOT simulated.is_off(m, clock_timestamp())
            OR EXISTS (SELECT FROM simulated.disk WHERE machine = thing) THEN
            RETURN simulated.simply('refuse', 'This machine has disks or is on. It is not deleted as a shell.');
        END IF;
        DELETE FROM simulated.machine WHERE name = thing;
    END IF;
    DELETE FROM simulated.aside WHERE name = thing AND (host = host_name OR host IS NULL);
    RETURN simulated.simply(hit.outcome, hit.detail);
END $$;
