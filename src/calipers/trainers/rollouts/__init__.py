"""Rollouts as engines hold them (texts, messages, images, data-set rows), turned into groups that a judge can read."""
