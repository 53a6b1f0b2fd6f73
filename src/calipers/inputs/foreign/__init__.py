"""Message and rollout formats of other libraries, one family a module, recognised by their shape.

A module translates its family's objects to forms that ``inputs`` reads already. Not responsible for checking the
translated messages (``messages``) or groups (``groups``). No foreign library is imported.
"""
