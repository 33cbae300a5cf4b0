-- The simulated hypervisor: its tables, and one function for each call of the driver interface.
--
-- The calls are functions so that each is one round trip that first locks the machine's row and then reads, with
-- a fresh snapshot, all it decides on: two workers that call at once are served one after the other. They answer
-- instead of raising, since an exception would take back the counting of faults.
--
-- Tables only ever gain columns here (ADD COLUMN IF NOT EXISTS), as machines outlive versions. The other files, one
-- for each group of calls, are made anew whenever any of them changes; session.py has the order in which they are read.

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

-- Why a machine went off whose power was cut, where that was not its host's being asked to stop it.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS fell text;

-- What was set aside: a machine with its disks, a disk, or (then without a host) a volume, as it was.
CREATE TABLE IF NOT EXISTS simulated.aside (
    name text PRIMARY KEY,
    host text,
    content jsonb NOT NULL
);

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
