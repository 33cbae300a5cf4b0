"""Tags of entities such as instances and domains."""
