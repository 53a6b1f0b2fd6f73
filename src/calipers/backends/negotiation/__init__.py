"""What servers refuse or ignore: parameters stepped down, structured output probed."""
