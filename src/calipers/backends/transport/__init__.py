"""HTTP transport: sends requests to a judge's server, reads replies, and turns the server's failures into
BackendErrors.
"""
