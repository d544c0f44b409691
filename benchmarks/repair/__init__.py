"""Are repaired values those that would have been normal?"""
