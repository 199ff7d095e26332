"""What `import remit` offers to programs, over the same engine as the gateway."""
