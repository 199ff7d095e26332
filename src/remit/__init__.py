"""Every caller sees exactly the tools within its remit, and every call is recorded."""
