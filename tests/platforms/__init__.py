"""Tests of the channels: settings, messages that arrive, the hand-off to a person, and the widget."""
