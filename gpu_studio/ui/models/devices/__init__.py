"""What the Devices page shows: devices, their history, alerts, topology."""
