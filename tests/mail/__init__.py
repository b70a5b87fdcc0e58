"""Tests of mails: the queue, the connection, notices, and answers to visitors."""
