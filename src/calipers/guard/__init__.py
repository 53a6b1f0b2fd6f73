"""Defence against prompt injection: finding candidates that address the judge, and testing whether a judge obeys
them.
"""
