// A room of headers alone still needs one translation unit.
