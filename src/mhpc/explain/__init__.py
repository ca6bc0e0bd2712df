"""Explanation: facts about sources and votes that people want to see."""
