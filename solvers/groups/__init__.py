"""Groups, exactly: least penalty, no group that blocks, and the least alpha without one."""
