"""Threadkeep: a memory service for AI agents."""
