"""Tests of the channels: settings, messages that arrive, and the hand-off to a person."""
