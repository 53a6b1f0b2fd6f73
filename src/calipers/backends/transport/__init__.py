"""HTTP transport: a request to a judge's server, the reply, and the server's failures as calipers' errors."""
