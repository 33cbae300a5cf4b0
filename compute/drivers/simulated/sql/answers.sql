-- The type of answers, and the check for faults with which every call begins.
--
-- Functions and types are created again when any of these files changes. Here those of an older version are dropped.

DO $$
DECLARE
    old regprocedure;
BEGIN
    FOR old IN SELECT oid FROM pg_proc WHERE pronamespace = 'simulated'::regnamespace LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old);
    END LOOP;
END $$;
DROP TYPE IF EXISTS simulated.answer;

-- `outcome` is ok, crash_after (ok, then the caller dies), or, for a blocked call, fail, refuse, unreachable or crash.
CREATE TYPE simulated.answer AS (
    outcome text, detail text, percent integer, wait double precision, names text[], rate double precision
);

CREATE FUNCTION simulated.simply(outcome text, detail text DEFAULT NULL, names text[] DEFAULT NULL)
RETURNS simulated.answer LANGUAGE sql IMMUTABLE AS $$
    SELECT outcome, detail, 100, 0::double precision, names, NULL::double precision
$$;

-- The progress, at the time `at`, of work from `began` to `ends`: 100 per cent only at the end. It copies `mb` MB.
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

-- Counts this call for every matching fault, and returns the combined effect of the faults that act now. `detail` is
-- the host that does not answer, if this blocks the call.
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
            -- a move concerns two hosts: the target, and the present host of the machine
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
