"""The regression check: did search quality drop since a baseline?"""
