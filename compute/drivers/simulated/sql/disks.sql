-- Calls on the disks of machines.

-- Whether the machine is on and booted with the disk.
CREATE FUNCTION simulated.in_use(m simulated.machine, disk_name text, at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT simulated.is_off(m, at)
        AND EXISTS (SELECT FROM jsonb_each_text(m.boot -> 'devices') WHERE value = disk_name)
$$;

-- `made` is the new disk. Its `used` counts unless the content comes from an archive or a disk. Each copied MB takes
-- `per_mb` seconds in addition to `seconds`.
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
        RETURN simulated.simply('refuse', 'The machine does not exist.');
    END IF;
    IF m.moving_to IS NOT NULL THEN
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
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
            RETURN simulated.simply('refuse', 'The archive does not exist.');
        END IF;
    ELSIF from_disk IS NOT NULL THEN
        SELECT s.used, s.root_hash, s.fingerprints, s.script_digest, s.ready_at
          INTO made.used, made.root_hash, made.fingerprints, made.script_digest, there
          FROM simulated.disk s WHERE s.machine = from_machine AND s.name = from_disk;
        IF NOT FOUND THEN
            RETURN simulated.simply('refuse', 'The disk to copy does not exist.');
        ELSIF there > at THEN
            RETURN simulated.simply('fail', 'The disk to copy is not ready.');
        END IF;
    END IF;
    IF made.used > made.size THEN
        RETURN simulated.simply('refuse', format('The disk needs %s MB for the content of its source.', made.used));
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
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
    END IF;
    SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'The disk does not exist.');
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
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
    END IF;
    SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
    IF NOT FOUND THEN
        RETURN simulated.simply('refuse', 'The disk does not exist.');
    ELSIF d.ready_at > clock_timestamp() THEN
        RETURN simulated.simply('fail', 'The disk is not ready.');
    ELSIF d.root_hash IS NULL THEN
        RETURN simulated.simply('refuse', 'The disk has no system with passwords.');
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
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
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
