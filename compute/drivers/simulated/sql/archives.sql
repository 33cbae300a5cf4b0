-- Calls on archives: contents of disks that belong to no machine.

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
        RETURN simulated.simply('fail', 'The machine is being moved to another host.');
    END IF;
    at := clock_timestamp();
    SELECT * INTO a FROM simulated.archive WHERE name = archive_name;
    IF NOT FOUND THEN
        SELECT * INTO d FROM simulated.disk WHERE machine = machine_name AND name = disk_name;
        IF NOT FOUND THEN
            RETURN simulated.simply('refuse', 'The disk does not exist.');
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

-- `used_mb` is null if the uploaded file is missing.
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
