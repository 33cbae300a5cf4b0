-- Calls on volumes, and on the machines that have them.

-- Whether a machine that is on has the volume.
CREATE FUNCTION simulated.is_plugged(volume_name text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM simulated.machine m WHERE m.plugged ? volume_name AND NOT simulated.is_off(m, at))
$$;

-- Locks volumes in a fixed order, and returns why the machine cannot have them: a refusal, a failure, or null.
-- The caller has locked the machine. If another call gives a volume to another machine at the same time, this function
-- waits for the lock of the volume and sees the result.
CREATE FUNCTION simulated.cannot_have(machine_name text, volume_names text[], at timestamptz)
RETURNS simulated.answer LANGUAGE plpgsql AS $$
DECLARE
    there integer;
    ready integer;
BEGIN
    SELECT count(*), count(*) FILTER (WHERE ready_at <= at) INTO there, ready FROM (
        SELECT ready_at FROM simulated.volume WHERE name = ANY (volume_names) ORDER BY name FOR UPDATE) v;
    IF there < cardinality(volume_names) THEN
        RETURN simulated.simply('refuse', 'The volume does not exist.');
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
                RETURN simulated.simply('refuse', 'The volume to copy does not exist.');
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
        RETURN simulated.simply('refuse', 'The volume does not exist.');
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
        RETURN simulated.simply('refuse', 'The machine does not exist.');
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
