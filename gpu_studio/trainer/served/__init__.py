"""Steps that workers do on variables which servers hold, handed out by this process, the chief."""
