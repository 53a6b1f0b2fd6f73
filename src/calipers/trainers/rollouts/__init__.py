"""Convert rollouts as engines hold them (texts, messages, images, data-set rows) to groups that a judge can read."""
