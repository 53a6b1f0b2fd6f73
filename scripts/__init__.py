"""Scripts for those who work on calipers; they are not part of the installed package."""
