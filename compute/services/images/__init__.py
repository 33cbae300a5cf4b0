"""Images of accounts: made from disks or uploads."""
