"""Cohorts: rollouts that arrive one at a time and are collected until their group is complete."""
