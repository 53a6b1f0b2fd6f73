"""Monitors for judges and policies during a run: health metrics, alarms, review queue, exporter."""
