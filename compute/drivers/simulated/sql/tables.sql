-- The simulated hypervisor: its tables, and one function for each call of the driver interface.
--
-- Each call is a function, so that it needs one round trip. It first locks the machine's row, and then reads with a
-- fresh snapshot. So two workers that call at the same time are served one after the other. The functions return errors
-- instead of raising them, because an exception would roll back the counting of faults.
--
-- Machines outlive versions, so tables here only gain columns (ADD COLUMN IF NOT EXISTS). The functions in the other
-- files are created again when any file changes. session.py has the order of the files.

CREATE SCHEMA IF NOT EXISTS simulated;

-- `power` is the last requested state, which is reached at `settles_at`: until then the machine boots or shuts down.
-- `halts_at` is the time at which the guest powers itself off.
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

-- `root_hash` and `fingerprints` stand for a guest's /etc/shadow and authorized_keys.
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

-- `used` is the size of the files on a disk, in MB. `script_digest` is the digest of the script for the first boot.
ALTER TABLE simulated.disk ADD COLUMN IF NOT EXISTS used integer NOT NULL DEFAULT 0;
ALTER TABLE simulated.disk ADD COLUMN IF NOT EXISTS script_digest text;

-- While `moving_to` is set, the machine moves to that host, from `began_at` to `moved_by`. `was_on` is the number of
-- seconds that the machine was on before its present boot.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS moving_to text;
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS moved_by timestamptz;
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS was_on double precision NOT NULL DEFAULT 0;

-- The machine's packet filter, and its version.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS firewall text NOT NULL DEFAULT '';
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS firewall_version bigint NOT NULL DEFAULT 0;

-- Contents of disks that belong to no machine.
CREATE TABLE IF NOT EXISTS simulated.archive (
    name text PRIMARY KEY,
    used integer NOT NULL,
    root_hash text,
    fingerprints text[] NOT NULL DEFAULT '{}',
    script_digest text,
    began_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL
);

-- Disks that belong to no machine; `size` in GB, `used` in MB. A volume is made from `began_at` to `ready_at`, and
-- grows, in use or not, from `growing_at` to `grown_at`. `plugged` of a running machine has its volumes with labels.
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

-- The reason if a machine lost its power without a call of `stop`.
ALTER TABLE simulated.machine ADD COLUMN IF NOT EXISTS fell text;

-- Set-aside objects with their state: a machine with its disks, a disk, or a volume, which has no host.
CREATE TABLE IF NOT EXISTS simulated.aside (
    name text PRIMARY KEY,
    host text,
    content jsonb NOT NULL
);

-- The scripted faults. A fault acts from its `nth` matching call on, `count` times (null: without end). Null in
-- `call`, `machine` (a LIKE pattern) or `host` matches all.
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

-- Filled only while a fault with the action `trace` exists.
CREATE TABLE IF NOT EXISTS simulated.call (
    machine text NOT NULL,
    call text NOT NULL,
    count integer NOT NULL,
    PRIMARY KEY (machine, call)
);
