-- The effects of the simulated hypervisor: each change of its tables, with the job that was live at that moment. A call
-- that is repeated and only asks for progress changes no row, and so leaves nothing here. The rows are written in the
-- transaction of the change: after a crash of the database both are there, or neither.

CREATE SCHEMA drill;
CREATE TABLE drill.effect (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    effect text NOT NULL,
    name text NOT NULL,
    job bigint,
    kind text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT ''
);

CREATE FUNCTION drill.note(the_effect text, the_name text, machine text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO drill.effect (effect, name, job, kind, state)
    SELECT the_effect, the_name, j.id, coalesce(j.kind, ''), coalesce(j.state, '')
    FROM (VALUES (1)) AS one
    LEFT JOIN public.compute_job j ON j.state IN ('active', 'undoing') AND (
        j.instance_id = substring(machine FROM '^skerry-(\d+)$')::bigint
        OR j.volume_id = substring(the_name FROM '^skerry-volume-(\d+)$')::bigint)
    ORDER BY j.id
    LIMIT 1
$$;

CREATE FUNCTION drill.of_machine() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    volume text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM drill.note('define', NEW.name, NEW.name);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM drill.note('undefine', OLD.name, OLD.name);
    ELSE
        IF NEW.boots > OLD.boots THEN
            PERFORM drill.note('start', NEW.name, NEW.name);
        ELSIF NEW.power = 'off' AND OLD.power = 'on' THEN
            PERFORM drill.note('stop', NEW.name, NEW.name);
        ELSIF NEW.power = 'on' THEN
            FOR volume IN SELECT jsonb_object_keys(NEW.plugged) EXCEPT SELECT jsonb_object_keys(OLD.plugged) LOOP
                PERFORM drill.note('plug ' || volume, NEW.name, NEW.name);
            END LOOP;
        END IF;
        IF NEW.moving_to IS NOT NULL AND NEW.moving_to IS DISTINCT FROM OLD.moving_to THEN
            PERFORM drill.note('move', NEW.name, NEW.name);
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION drill.of_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM drill.note('create disk', NEW.name, NEW.machine);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM drill.note('delete disk', OLD.name, OLD.machine);
    ELSIF NEW.size <> OLD.size THEN
        PERFORM drill.note('resize disk', NEW.name, NEW.machine);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION drill.of_volume() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM drill.note('create volume', NEW.name, NULL);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM drill.note('delete volume', OLD.name, NULL);
    ELSIF NEW.size <> OLD.size THEN
        PERFORM drill.note('resize volume', NEW.name, NULL);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION drill.of_archive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM drill.note('create archive', NEW.name, NULL);
    ELSE
        PERFORM drill.note('delete archive', OLD.name, NULL);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER drill AFTER INSERT OR UPDATE OR DELETE ON simulated.machine
    FOR EACH ROW EXECUTE FUNCTION drill.of_machine();
CREATE TRIGGER drill AFTER INSERT OR UPDATE OR DELETE ON simulated.disk
    FOR EACH ROW EXECUTE FUNCTION drill.of_disk();
CREATE TRIGGER drill AFTER INSERT OR UPDATE OR DELETE ON simulated.volume
    FOR EACH ROW EXECUTE FUNCTION drill.of_volume();
CREATE TRIGGER drill AFTER INSERT OR DELETE ON simulated.archive
    FOR EACH ROW EXECUTE FUNCTION drill.of_archive();
