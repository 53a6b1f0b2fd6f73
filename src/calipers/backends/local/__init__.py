"""The judge ``local:DIR``: a small model that ``calipers distill`` made, in this process, without a server."""
