// The precompiled header of the unit tests needs a target of its own, and a target a source.
