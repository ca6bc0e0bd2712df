"""Faults of many classes, generated from a seed, against the command line.

A class of faults is a function that draws an `Attack`: it writes files into a folder and returns
the commands to run there. The commands run in processes of their own, and one judge checks all of
them by the same rules.
"""
